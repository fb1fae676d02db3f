"""Pushes of documents by clients, and the schemas that documents are checked against."""
