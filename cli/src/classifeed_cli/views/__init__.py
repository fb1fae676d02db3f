"""What people see of feeds, loads, jobs and offers: texts for a terminal of 80 columns."""
