"""ModerationService: one file for each family of its methods."""
