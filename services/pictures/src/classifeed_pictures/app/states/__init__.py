"""States of pictures: found, compared with what offers use, moved to other keys."""
