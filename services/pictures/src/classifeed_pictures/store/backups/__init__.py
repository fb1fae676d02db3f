"""Tables that backups read and restores write, with their marks."""
