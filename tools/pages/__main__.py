"""Write the generated pages of docs/reference (`make pages`); `--check` only compares them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tools import mutations
from tools.pages import cli, error_codes, fetch_codes, formats, metrics

REFERENCE: Final = Path(__file__).parents[2] / "docs" / "reference"
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "cli.md": cli.render,
    "error-codes.md": error_codes.render,
    "fetch-codes.md": fetch_codes.render,
    "metrics.md": metrics.render,
    "mutations.md": mutations.render,
    **{f"formats/{name}": render for name, render in formats.PAGES.items()},
}


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Write the pages of docs/reference that are made from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is out of date")
    options = parser.parse_args()
    stale = [name for name, render in PAGES.items() if (REFERENCE / name).read_text("utf-8") != render()]
    for name in stale:
        if options.check:
            print(f"docs/reference/{name} is out of date: run `make pages`", file=sys.stderr)
        else:
            (REFERENCE / name).write_text(PAGES[name](), "utf-8")
            print(f"docs/reference/{name}")
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
