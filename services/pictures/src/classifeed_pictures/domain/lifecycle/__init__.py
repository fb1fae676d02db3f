"""The lifecycle of a picture: its state, the events that change it, and their effects."""
