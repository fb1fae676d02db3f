"""The way of a document into the index, hop by hop, each beside a bare program (`make bench-indexing`)."""
