"""Publication to the search: what changed, what is published again, and what the receiver refuses."""
