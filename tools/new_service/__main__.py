"""`python -m tools.new_service NAME ["What it does"]`: generate a service that passes `make lint test`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.arguments import parser_of
from tools.generate.files import ROOT
from tools.new_service.files import render_files
from tools.new_service.places import PLACES, PlaceError

# They write the files that depend on the new service.
_GENERATORS: Final = ("tools.generate.stubs", "tools.generate", "tools.pictures")
_NAME: Final = re.compile(r"[a-z]{3,20}")


def write_service(name: str, description: str) -> list[Path]:
    """Write the files of a service and its entries in existing files; return the paths from the root.

    Raises:
        PlaceError: a file exists, or an existing file has an unexpected form. No file is written then.
    """
    written = render_files(name, description)
    if taken := [str(path) for path in written if (ROOT / path).exists()]:
        raise PlaceError(f"files exist: {', '.join(taken)}")
    for place, edit in PLACES.items():
        try:
            written[Path(place)] = edit((ROOT / place).read_text("utf-8"), name, description)
        except PlaceError as error:
            raise PlaceError(f"{place}: {error}") from error
    for path, text in written.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, "utf-8")
    return list(written)


def main() -> int:
    """Generate a service; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("name", help="a lower-case word, such as moderation")
    parser.add_argument("description", nargs="?", help="what it does: a sentence without its full stop")
    arguments = parser.parse_args()
    description = arguments.description or f"Serves {arguments.name.title()}Service"
    if _NAME.fullmatch(arguments.name) is None or description.endswith("."):
        parser.error("the name has 3 to 20 letters from a to z, and the description no full stop")
    try:
        written = write_service(arguments.name, description)
    except PlaceError as error:
        print(f"new_service: {error}", file=sys.stderr)
        return 1
    subprocess.run([sys.executable, "-m", "ruff", "check", "--fix", "--quiet", *_python(written)], cwd=ROOT, check=True)
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", *_python(written)], cwd=ROOT, check=True)
    # Packages generated since the last `make setup` are not installed yet.
    paths = [*map(str, ROOT.glob("services/*/src")), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    for generator in _GENERATORS:
        subprocess.run([sys.executable, "-m", generator], cwd=ROOT, env=environment, check=True)
    print("\n".join(map(str, written)))
    print("`make setup` installs it; services/<name>/README.md lists its entries outside its folder.")
    return 0


def _python(paths: Sequence[Path]) -> list[str]:
    return [str(path) for path in paths if path.suffix == ".py"]


if __name__ == "__main__":
    sys.exit(main())
