"""Quality and speed of cleanweb's automatic rules."""
