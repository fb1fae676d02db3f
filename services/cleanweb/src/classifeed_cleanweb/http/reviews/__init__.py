"""The pages of reviewers: sign-in, projects, the text that is reviewed, instructions."""
