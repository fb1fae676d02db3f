"""URLs of pictures: canonical forms and keys."""
