"""Plain data and pure functions about uploads and feeds; no I/O."""
