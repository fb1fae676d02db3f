"""The supported formats, each a package, and the names of known unsupported ones."""
