"""A load that would remove most offers waits for a decision, through the whole suite."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.suite import Answer, Suite
from tests.requirements import shared_data

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]
_OFFERS = 1327


def test_file_without_offers_removes_nothing_until_it_is_confirmed(suite: Suite, seller: str, tmp_path: Path) -> None:
    whole = shared_data() / "feeds" / "yml_wheels_2011.xml"
    empty = tmp_path / "empty.xml"
    empty.write_bytes(re.sub(rb"<offers>.*</offers>", b"<offers></offers>", whole.read_bytes(), flags=re.DOTALL))

    def decide(verb: str, held: Answer) -> Answer:
        return suite.run("task", verb, seller, "default", held.document["task_id"])

    def hold() -> Answer:
        held = suite.upload(empty, seller)
        assert (held.exit_code, held.document["status"]) == (1, "HELD"), held.document
        return held

    assert suite.upload(whole, seller).document["statistics"]["added"] == str(_OFFERS)
    held = hold()
    what = held.document["hold"]
    assert (what["reasons"], what["removals"], what["offers"]) == (["NO_OFFERS"], str(_OFFERS), str(_OFFERS))
    assert len(what["sample_offers"]) == 10
    suite.settle()
    total = suite.run("search", "", "--seller", seller, "--limit", "1").document["total"]
    assert (len(suite.offers(seller)), int(total)) == (_OFFERS, _OFFERS)
    explained = suite.run("offer", "explain", seller, "default", "5").document
    assert f"would remove {_OFFERS:,} of {_OFFERS:,} offers" in explained["summary"]

    rejected = decide("reject", held)
    assert (rejected.exit_code, rejected.document["status"]) == (0, "SUCCEEDED"), rejected.document
    assert rejected.document["statistics"]["removed"] == "0"
    assert rejected.document["warnings"][-1].startswith(f"REMOVALS_REJECTED: {_OFFERS:,} offers")
    refused = decide("confirm", held)
    assert (refused.exit_code, refused.document["error"]["reason"]) == (1, "TASK_DECIDED")

    held = hold()
    assert suite.upload(whole, seller).document["statistics"]["unchanged"] == str(_OFFERS)
    assert suite.run("task", "show", seller, "default", held.document["task_id"]).document["status"] == "SUPERSEDED"
    refused = decide("confirm", held)
    assert (refused.exit_code, refused.document["error"]["reason"]) == (1, "TASK_NOT_HELD")

    held = hold()
    confirmed = decide("confirm", held)
    assert (confirmed.document["status"], confirmed.document["statistics"]["removed"]) == ("SUCCEEDED", str(_OFFERS))
    assert decide("confirm", held).document == confirmed.document
    assert suite.offers(seller) == {}
