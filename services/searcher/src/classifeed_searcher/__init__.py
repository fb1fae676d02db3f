"""The index and its searches.

Each replica builds its own index from the registry, then applies every partition of the index topics to it. It stores
the index's position in the topics next to the index. It promises:
- A searchable document stays searchable after a crash.
- An older document never replaces a newer one.
- An index that is incomplete, or differs from the registry, is rebuilt.
"""
