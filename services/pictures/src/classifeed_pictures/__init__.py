"""Downloads and keeps the pictures of offers."""
