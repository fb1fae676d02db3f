"""What the processor knows without any door or store: error codes, faults, issues, currencies."""
