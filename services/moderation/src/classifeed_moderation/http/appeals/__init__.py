"""Web pages on which reviewers decide appeals."""
