"""What a mutation is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change that breaks one promise.

    Attributes:
        name: what it is called on the command line.
        mechanism: the heading under which the page has it; those of one mechanism stand together.
        breaks: what is not true any more, in words.
        file: path of the file, from the root of the repository; below a `src` folder.
        before: text that occurs once in the file.
        after: what takes its place.
        tests: ids of tests that fail with it and pass without.
    """

    name: str
    mechanism: str
    breaks: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
