from __future__ import annotations

import re
from pathlib import Path

from classifeed_common import fetch
from classifeed_common.fetch import FETCH_FAULTS, FetchFailed
from classifeed_common.fetch.faults import FEED_FIXES, PICTURE_FIXES


def test_every_code_has_all_its_words_and_is_used() -> None:
    sources = "".join(path.read_text() for path in Path(fetch.__file__).parent.rglob("*.py") if path.stem != "faults")
    for code, fault in FETCH_FAULTS.items():
        assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", code)
        assert code == fault.code
        assert 0 < len(fault.title) <= 80
        assert not fault.title.endswith(".")
        assert fault.cause.endswith(".")
        assert fault.suggestion.endswith(".")
        assert f'"{code}"' in sources


def test_a_failure_says_what_happened_and_what_to_do() -> None:
    failed = FetchFailed("HTTP_GONE", "http://shop.example.com/feed responded with status 410", http_status=410)
    assert str(failed) == failed.message
    assert failed.message == (
        "http://shop.example.com/feed responded with status 410. Give the new link of the file, or remove the feed."
    )


def test_each_caller_has_a_fix_for_each_code_in_its_own_words() -> None:
    assert FEED_FIXES.keys() == PICTURE_FIXES.keys() == FETCH_FAULTS.keys()
    for code, fix in PICTURE_FIXES.items():
        assert fix.endswith("."), code
        assert not re.search(r"\b(feeds?|gzip|fetch)\b", fix), code
