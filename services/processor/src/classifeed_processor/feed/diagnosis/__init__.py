"""What is wrong with a file that is not well-formed XML, and where."""
