"""Append a measured figure, read as a JSON line from standard input, to the results of a subject."""

from __future__ import annotations

import sys

import msgspec

from tools.arguments import parser_of
from tools.pages.results import FOLDER, parse, subjects


def main() -> None:
    """Check the line and append it."""
    parser = parser_of(__doc__)
    parser.add_argument("subject", choices=subjects(), help="name of the file in bench/results, without .jsonl")
    subject = parser.parse_args().subject
    line = sys.stdin.read().strip()
    try:
        parse(line)
    except msgspec.DecodeError as error:
        parser.error(f"the line is refused: {error}")
    with (FOLDER / f"{subject}.jsonl").open("a", encoding="utf-8") as results:
        results.write(f"{line}\n")


if __name__ == "__main__":
    main()
