"""Entry points over HTTP: they translate and call."""
