"""The mutations as data for tools/mutations.py: one module for each subject.

A mutation is in the list for one of two reasons:

- It breaks a promise of ARCHITECTURE.md, or of a mechanism that ARCHITECTURE.md links to.
- A reviewer would not notice its fault: a lost message, a doubled row, a missing fence or lease, an open security rule.

Each promise has one mutation: the most likely wrong code. A variant of it needs a test, but no mutation.
"""

from __future__ import annotations

from typing import Final

from tools.mutation_list import (
    access,
    files,
    guards,
    index,
    jobs,
    loads,
    messages,
    pictures,
    processes,
    publishing,
    reviews,
    texts,
)
from tools.mutation_list.mutation import Mutation

__all__ = ["MUTATIONS", "Mutation"]

MUTATIONS: Final[tuple[Mutation, ...]] = (
    *processes.MUTATIONS,
    *jobs.MUTATIONS,
    *messages.MUTATIONS,
    *publishing.MUTATIONS,
    *loads.MUTATIONS,
    *guards.MUTATIONS,
    *index.MUTATIONS,
    *access.MUTATIONS,
    *files.MUTATIONS,
    *texts.MUTATIONS,
    *reviews.MUTATIONS,
    *pictures.MUTATIONS,
)
