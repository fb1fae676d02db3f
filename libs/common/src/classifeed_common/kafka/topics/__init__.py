"""Topics: declaration, creation and growth."""
