"""The formats that can be loaded, each a package, and the names of those that cannot."""
