"""Command lines of benchmarks and tools: each has `--help` and refuses unknown arguments."""

from __future__ import annotations

import argparse


def parse(doc: str | None, **flags: str) -> argparse.Namespace:
    """Parse a command line that has flags only.

    Args:
        doc: docstring of the module, printed by `--help`.
        flags: name of each flag with its help; a flag is false unless it is given.
    """
    return parser_of(doc, **flags).parse_args()


def parser_of(doc: str | None, **flags: str) -> argparse.ArgumentParser:
    """Return the parser of `parse`, for a command line that has more than flags."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, text in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    return parser
