"""The type of a mutation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change that breaks one promise.

    Attributes:
        name: name on the command line.
        breaks: sentence that describes the defect.
        file: path of the file from the root of the repository, below a `src` folder.
        before: text that occurs once in the file.
        after: text that replaces `before`.
        tests: ids of tests that fail with the mutation and pass without it.
    """

    name: str
    breaks: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
