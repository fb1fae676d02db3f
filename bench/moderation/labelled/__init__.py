"""Labelled texts: `frozen` is measured, `development` is what rules may be tuned on."""
