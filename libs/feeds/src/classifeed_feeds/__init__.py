"""Reading of feed files: container, encoding, first pass, second pass, batches. Pure code: no server, no clock."""
