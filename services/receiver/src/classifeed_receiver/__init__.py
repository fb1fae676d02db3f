"""The receiver: owner of the registry of documents and of the queues between registry and index.

It promises: of two versions of a document the fresher one wins, in whatever order they come; a document is acknowledged
only once registry and queue are committed; the elements of a shard's queue are numbered in the order of their commits,
so that a reader never misses one; and a reader whose cursor is trimmed
away gets an error, never a later element in silence.
"""
