"""HTTP entry points: requests for verdicts, and the pages of reviewers."""
