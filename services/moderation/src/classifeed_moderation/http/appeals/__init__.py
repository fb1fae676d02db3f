"""Pages on which reviewers decide appeals."""
