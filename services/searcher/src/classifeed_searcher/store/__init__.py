"""The files of an index on disk: generations, positions and state."""
