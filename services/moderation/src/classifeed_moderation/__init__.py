"""Has texts judged, and acts on the verdicts by its own rules."""
