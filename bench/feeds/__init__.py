"""Reading a feed, and loading it from the upload to the search (`make bench-feeds`)."""
