"""`python -m tools.cleanweb_rules`: join cleanweb's lists into one file of rules; `--check` compares."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tools.arguments import parse

_FOLDER: Final = Path("services/cleanweb/src/classifeed_cleanweb/rules")
_HEAD: Final = """\
# Made by `python -m tools.cleanweb_rules` from `lists/`; change those. They are words as users write them.
name: packaged
lists:
"""


def render(folder: Path = _FOLDER) -> str:
    """Return the text of the file of rules: each list, indented below its name."""
    parts = [_HEAD]
    for path in sorted((folder / "lists").glob("*.yaml")):
        lines = path.read_text("utf-8").splitlines()
        parts += [f"  {path.stem}:\n", *(f"    {line}\n" if line else "\n" for line in lines)]
    return "".join(parts)


def main() -> int:
    made, path = render(), _FOLDER / "rules.yaml"
    if parse(__doc__, check="write nothing; fail if the file is not up to date").check:
        if path.read_text("utf-8") == made:
            return 0
        print(f"{path} is not up to date with its lists: run `python -m tools.cleanweb_rules`", file=sys.stderr)
        return 1
    path.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
