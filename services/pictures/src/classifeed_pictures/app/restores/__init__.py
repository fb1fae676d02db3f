"""Tables that were restored alone: noticed, mended, and named until then."""
