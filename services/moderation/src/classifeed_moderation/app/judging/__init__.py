"""From a stored text to a request: the queue in memory, the claims of what is due, and the workers."""
