"""Rules of the automatics: lists by category and language, put together into the one file that a snapshot watches."""
