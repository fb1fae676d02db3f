"""The index and its searches.

Each replica reads every partition of the index topics into an index of its own and keeps beside it how far it has come.
It promises that a document which was searchable stays so over a crash, and that an older one never covers a newer one.
"""
