"""The stages of indexing a document, each compared with a bare program (`make bench-indexing`)."""
