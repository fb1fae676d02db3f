"""Publication to the search: changed offers, republications, and documents that the receiver refuses."""
