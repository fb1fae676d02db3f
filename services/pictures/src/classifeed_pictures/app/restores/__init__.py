"""Tables that were restored without the others: detected, repaired, and reported until then."""
