"""Other services, as this one needs them."""
