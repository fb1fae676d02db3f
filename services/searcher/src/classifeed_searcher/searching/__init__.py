"""Search processes: child processes of the service that search its indexes."""
