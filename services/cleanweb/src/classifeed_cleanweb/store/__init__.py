"""Tables of this service, and all SQL on them."""
