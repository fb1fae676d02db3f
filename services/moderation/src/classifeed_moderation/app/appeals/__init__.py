"""Appeals: authors make them, reviewers decide them."""
