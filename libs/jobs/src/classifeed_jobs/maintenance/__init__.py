"""What keeps the tables in order: lost jobs go back, old rows go away, depths become metrics."""
