"""The process that starts the units of an installation, watches them, describes them, and stops them."""
