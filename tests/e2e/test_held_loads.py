"""Loads that would remove most offers or make most prices wrong are held for a decision, through the whole suite."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.suite import CommandResult, Suite
from tests.requirements import shared_data

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]
_OFFERS = 1327


def test_file_without_offers_removes_nothing_until_it_is_confirmed(suite: Suite, seller: str, tmp_path: Path) -> None:
    whole = shared_data() / "feeds" / "yml_wheels_2011.xml"
    empty = tmp_path / "empty.xml"
    empty.write_bytes(re.sub(rb"<offers>.*</offers>", b"<offers></offers>", whole.read_bytes(), flags=re.DOTALL))

    def decide(verb: str, held: CommandResult) -> CommandResult:
        return suite.run("task", verb, seller, "default", held.document["task_id"])

    def hold() -> CommandResult:
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


def test_prices_times_ten_are_not_found_until_they_are_confirmed(suite: Suite, seller: str, tmp_path: Path) -> None:
    whole = shared_data() / "feeds" / "yml_wheels_2011.xml"
    raised = tmp_path / "raised.xml"
    raised.write_bytes(re.sub(rb"<price>(\d+)", rb"<price>\g<1>0", whole.read_bytes()))

    def found() -> dict[str, float]:
        suite.settle()
        hits = suite.search("pirelli", seller)
        assert 0 < len(hits) < 1000, "all of them"
        return {hit["external_id"]: hit["price"] for hit in hits}

    def hold() -> CommandResult:
        held = suite.upload(raised, seller)
        assert (held.exit_code, held.document["status"]) == (1, "HELD"), held.document
        return held

    def decide(verb: str, held: CommandResult) -> CommandResult:
        return suite.run("task", verb, seller, "default", held.document["task_id"])

    suite.upload(whole, seller)
    before = found()
    held = hold()
    what, numbers = held.document["hold"], held.document["statistics"]
    assert (what["reasons"], what["price_ratio"], len(what["sample_prices"])) == (["PRICES"], 10, 10)
    moved = what["moved_prices"]
    assert (what["changed_prices"], what["changes"], numbers["skipped"], numbers["updated"]) == (
        moved,
        moved,
        moved,
        "0",
    )
    assert found() == before
    explained = suite.run("offer", "explain", seller, "default", what["sample_prices"][0]["external_id"]).document
    assert (
        f"as it would change {int(moved):,} of {int(moved):,} changed prices by a large factor" in explained["summary"]
    )

    rejected = decide("reject", held)
    assert (rejected.exit_code, rejected.document["status"]) == (0, "SUCCEEDED"), rejected.document
    assert rejected.document["warnings"][-1].startswith(f"CHANGES_REJECTED: {int(moved):,} offers")
    assert found() == before

    confirmed = decide("confirm", hold())
    assert (confirmed.document["status"], confirmed.document["statistics"]["updated"]) == ("SUCCEEDED", moved)
    assert found() == {external_id: price * 10 for external_id, price in before.items()}
