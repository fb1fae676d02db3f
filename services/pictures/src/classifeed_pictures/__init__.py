"""Downloads, stores and serves the pictures of offers."""
