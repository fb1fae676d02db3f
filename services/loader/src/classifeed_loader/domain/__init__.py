"""Plain data and pure functions about sources, fetches and their completion; no I/O."""
