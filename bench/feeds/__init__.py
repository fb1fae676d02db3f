"""Reading a feed, and the whole way of its offers (`make bench-feeds`)."""
