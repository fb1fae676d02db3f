"""`make bench-pictures`: states, downloads compared with img2dataset, and responses to clients compared with nginx.

`python -m bench.pictures [--smoke | --full] [states] [downloads] [serving]`; without names, all three.
"""

from __future__ import annotations

import importlib
import os
from typing import Final

from tools.arguments import parser_of

from bench.kit.report import Report
from bench.pictures.installation import installed
from bench.pictures.sizes import DEFAULT, FULL, SMOKE

_PARTS: Final = {name: f"bench.pictures.{name}" for name in ("states", "downloads", "serving")}
"""Modules with a function `measure(installation, sizes, report)`; each gets a new installation."""


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[[], *_PARTS], default=[])
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--smoke", action="store_const", const=SMOKE, dest="sizes", help="a small run for tests")
    size.add_argument("--full", action="store_const", const=FULL, dest="sizes", help="a long run for an idle machine")
    parser.set_defaults(sizes=DEFAULT)
    arguments = parser.parse_args()
    report = Report("pictures", sizes=vars(arguments.sizes))
    for name in arguments.parts or _PARTS:
        print(f"\n{name}, load {os.getloadavg()[0]:.1f}, {arguments.sizes.rounds} rounds", flush=True)
        with installed() as installation:
            importlib.import_module(_PARTS[name]).measure(installation, arguments.sizes, report)
    report.finish()


if __name__ == "__main__":
    main()
