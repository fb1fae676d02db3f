"""The command line and the embedded platform: starts the suite on one machine, and talks to a running one."""
