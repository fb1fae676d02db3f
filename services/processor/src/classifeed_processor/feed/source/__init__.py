"""How the bytes of a feed file are had: containers, encodings, positions, and limits on all of them."""
