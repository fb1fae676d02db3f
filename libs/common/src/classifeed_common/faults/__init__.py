"""Which faults pass by themselves, of a database and of anything else."""
