"""Structure of a feed file: places of its offers, their ids and tags."""
