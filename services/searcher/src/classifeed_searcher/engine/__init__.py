"""The search engine: queries, the text analysis, and the writer of an index."""
