"""Output of feeds, loads, jobs and offers for people, for a terminal of 80 columns."""
