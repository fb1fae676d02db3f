"""Labelled texts: `frozen` is for measuring, `development` for tuning rules."""
