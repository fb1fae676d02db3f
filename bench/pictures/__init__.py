"""Speed of pictures: states, downloads, and what clients get."""
