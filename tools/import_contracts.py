"""The contracts of import-linter for all services: .importlinter, made from import_contracts.ini.

python -m tools.import_contracts            # write
python -m tools.import_contracts --check    # list files that are not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Final

from classifeed_cli.platform.planning.service_table import ServiceTable
from tools.generate.files import ROOT, write_or_check

TEMPLATE: Final = ROOT / "tools/import_contracts.ini"


def list_files() -> Iterator[tuple[Path, str]]:
    """Yield the file with its expected text."""
    packages = [spec.package for spec in ServiceTable.load().services.values()]
    lines = Template(TEMPLATE.read_text("utf-8"))
    yield (
        ROOT / ".importlinter",
        lines.substitute(services="\n    ".join(packages), any_service=" | ".join(packages)),
    )


def main() -> int:
    """Write or check the files; return the exit code."""
    return write_or_check(list_files(), "make stubs")


if __name__ == "__main__":
    sys.exit(main())
