"""Makes a new service: its folder, contract, chart and tests, and its name in the five files that must have it."""
