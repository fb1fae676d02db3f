"""The verdict service of the suite: automatic rules and reviews by people."""
