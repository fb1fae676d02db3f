"""The consumer whose effects hold exactly once, and what it is made of."""
