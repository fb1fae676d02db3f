"""Write the generated pages and charts of docs (`make pages`); `--check` only compares them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from tools.arguments import parse
from tools.pages import benchmarks, charts, cli, error_codes, fetch_codes, formats, metrics

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "benchmarks.md": benchmarks.render,
    **{
        f"pictures/benchmarks/{name}.svg": partial(charts.draw, name, subject.one_unit)
        for name, subject in benchmarks.SUBJECTS.items()
    },
    "reference/cli.md": cli.render,
    "reference/error-codes.md": error_codes.render,
    "reference/fetch-codes.md": fetch_codes.render,
    "reference/metrics.md": metrics.render,
    **{f"reference/formats/{name}": render for name, render in formats.PAGES.items()},
}


def main() -> int:
    """Run the command line; return the exit code."""
    options = parse(__doc__, check="write nothing; fail if a page is out of date")
    stale = {name: text for name, render in PAGES.items() if (text := render()) != _read(DOCS / name)}
    for name, text in stale.items():
        if options.check:
            print(f"docs/{name} is out of date: run `make pages`", file=sys.stderr)
        else:
            (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
            (DOCS / name).write_text(text, "utf-8")
            print(f"docs/{name}")
    return int(options.check and bool(stale))


def _read(page: Path) -> str | None:
    return page.read_text("utf-8") if page.exists() else None


if __name__ == "__main__":
    sys.exit(main())
