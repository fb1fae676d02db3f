"""States of pictures: found, compared with the pictures that offers use, moved to other keys."""
