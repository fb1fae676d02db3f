"""What the benchmarks share: generated input, processes to measure, their CPU, and the report."""
