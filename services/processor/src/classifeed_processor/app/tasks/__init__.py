"""Tasks: created, canceled, decided about, run again, completed, and reported."""
