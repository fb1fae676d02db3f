"""The life of a picture: its state, the events that change it, and what follows from them."""
