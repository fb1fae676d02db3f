"""Pictures of offers: request them, store their results, and export their links."""
