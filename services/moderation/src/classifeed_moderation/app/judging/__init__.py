"""Path of a stored text to a request: the queue in memory, the claims of due texts, and the workers."""
