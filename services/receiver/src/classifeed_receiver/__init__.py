"""The receiver: owner of the registry of documents and of the queues between registry and index.

It promises:
- Of two versions of a document the fresher one wins, in every order of arrival.
- A document is acknowledged only after registry and queue are committed.
- The elements of a shard's queue are numbered in the order of their commits, so that a reader never misses one.
- A reader whose cursor is trimmed away gets an error, never silently a later element.
"""
