"""How long after a download an offer is found."""
