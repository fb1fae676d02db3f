"""`python -m tools.furniture`: list violations of the rules; exit with code 1 if there are any."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable

from tools.arguments import parse
from tools.furniture.areas import Finding, Module, modules, statements
from tools.furniture.cache import find_cached
from tools.furniture.folders import check_folders, check_mirrors
from tools.furniture.messages import check_messages
from tools.furniture.rules import RULES
from tools.furniture.words import check_comments, check_prose, check_words


def find(checked: Iterable[Module]) -> list[Finding]:
    """Return the violations of the rules, in the order of the modules."""
    checks = [*RULES.values(), check_words, check_prose, check_messages]
    return [finding for module in checked for check in checks for finding in check(module)]


def main() -> int:
    parse(__doc__)
    checked = list(modules())
    of_comments = (finding for path, text in statements() for finding in check_comments(path, text))
    found = [*find_cached(checked, find), *check_folders(checked), *check_mirrors(checked), *of_comments]
    for finding in found:
        print(finding)
    return int(bool(found))


if __name__ == "__main__":
    gc.disable()  # collections would take half of the time, since the syntax trees are large
    sys.exit(main())
