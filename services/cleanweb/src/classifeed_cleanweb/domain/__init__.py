"""Projects and agreement of reviewers: pure functions."""
