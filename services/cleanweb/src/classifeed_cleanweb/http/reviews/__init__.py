"""Web pages of reviewers: sign-in, projects, the text under review, instructions."""
