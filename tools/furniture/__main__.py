"""`python -m tools.furniture`: exit code 1 where a rule is broken; `--all` lists what NOT_YET allows too."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from tools.furniture.areas import NOT_YET, Finding, Module, modules
from tools.furniture.rules import RULES
from tools.furniture.words import check_words


def find(checked: Iterable[Module]) -> list[Finding]:
    """Return what breaks a rule, in the order of the tree, areas that are not yet clean included."""
    checks = [*RULES.values(), check_words]
    return [finding for module in checked for check in checks for finding in check(module)]


def main(arguments: list[str]) -> int:
    found = find(modules())
    new = [finding for finding in found if finding.rule not in NOT_YET.get(finding.module.area, ())]
    for finding in found if "--all" in arguments else new:
        print(finding)
    broken = {(finding.module.area, finding.rule) for finding in found}
    for area, rules in NOT_YET.items():
        for rule in sorted(rules):
            if (area, rule) not in broken:
                print(f"{area} keeps the rule {rule!r}: take it off NOT_YET in tools/furniture/areas.py")
    return int(bool(new))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
