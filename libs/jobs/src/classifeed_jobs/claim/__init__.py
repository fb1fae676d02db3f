"""Taking due jobs, holding them and completing them: the statements of workers and reapers."""
