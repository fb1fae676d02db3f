"""Points, their comments and votes, and their publication to the search."""
