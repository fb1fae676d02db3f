"""The index and its searches.

Each replica makes an index of its own from the registry, then reads every partition of the index topics into it and
keeps beside it how far it has come. It promises that a document which was searchable stays so over a crash, that an
older one never covers a newer one, and that an index which is not whole, or differs from the registry, is made again.
"""
