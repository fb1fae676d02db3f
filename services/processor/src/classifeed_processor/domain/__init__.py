"""What the processor knows without any entry point or store: error codes, faults, issues, currencies."""
