"""URLs of pictures: one spelling for each, and the key that a picture is kept under."""
