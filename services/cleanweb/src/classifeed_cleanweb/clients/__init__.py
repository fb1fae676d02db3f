"""The outer world: receivers of callbacks."""
