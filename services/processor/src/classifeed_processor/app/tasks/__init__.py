"""Use cases of tasks: create, cancel, decide, rerun, finish, report."""
