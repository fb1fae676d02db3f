"""The how-to on feeds by link covers every outcome of a failed fetch."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from classifeed_common.fetch.faults import FETCH_FAULTS
from classifeed_loader.domain.faults import FAULTS, OURS
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "how-to" / "feeds-by-link.md"


def test_each_code_that_a_seller_may_see_is_in_the_table_once() -> None:
    chapter = PAGE.read_text("utf-8").partition("## When a fetch fails\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in chapter.splitlines() if line.startswith("| `")]
    patterns = [name.replace("…", "*") for row in rows for name in re.findall(r"`([^`]+)`", row)]
    codes = {*FETCH_FAULTS, *FAULTS} - OURS
    found = {code: [pattern for pattern in patterns if fnmatchcase(code, pattern)] for code in codes}
    assert {code: matching for code, matching in found.items() if len(matching) != 1} == {}
    assert [pattern for pattern in patterns if not any(fnmatchcase(code, pattern) for code in codes)] == []
