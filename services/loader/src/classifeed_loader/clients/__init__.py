"""Other services, as this one sees them."""
