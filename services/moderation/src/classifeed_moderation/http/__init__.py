"""HTTP entry points: callbacks of the verdict service, and the pages of appeals."""
