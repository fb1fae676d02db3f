"""Issues of a load: read as one list, packed into a file, exported."""
