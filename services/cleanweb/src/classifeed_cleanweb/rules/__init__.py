"""Rules of the automatics: lists by category and language, merged into the one file that a snapshot watches."""
