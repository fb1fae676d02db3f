"""Speed of the pictures service: states, downloads and responses to clients."""
