"""Changes of single offers that are kept by hand."""
