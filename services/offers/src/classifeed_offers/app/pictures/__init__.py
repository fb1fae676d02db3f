"""Pictures of offers: requested, kept, and their links exported."""
