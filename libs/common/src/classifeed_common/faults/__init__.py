"""Classification of faults: passing ones, which a retry may solve, and lasting ones."""
