"""Tables of states, requests, comparisons and similar pictures."""
