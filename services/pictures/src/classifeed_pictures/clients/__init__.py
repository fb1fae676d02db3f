"""The outer world: object stores, hosts of pictures."""
