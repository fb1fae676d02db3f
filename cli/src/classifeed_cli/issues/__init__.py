"""Issues in the offers of a load: read page by page, grouped for people, written to files."""
