"""Files of sellers through the whole suite: real ones, repeated ones, changed ones, broken ones."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bench.kit.generated_feed import offer_ids, write_feed

from tests.e2e.reading import count_offers
from tests.e2e.suite import Suite
from tests.requirements import shared_data

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(3000)]
_COUNTS = ("added", "updated", "unchanged", "rejected_validation", "rejected_moderation", "skipped", "duplicates")


def counts_of(task: dict[str, Any]) -> dict[str, int]:
    """Return the counts that are not zero after checking their sum."""
    numbers = {name: int(task["statistics"][name]) for name in (*_COUNTS, "removed", "made_manual")}
    assert int(task["statistics"]["total"]) == sum(numbers[name] for name in _COUNTS)
    return {name: count for name, count in numbers.items() if count}


@pytest.mark.parametrize(
    ("name", "word", "finds"),
    [
        # Words of a title with other case, alphabet or blanks, and the id of the offer that they must find.
        ("yml_vtt_cp1251.yml", "картриджами & В3Р-20 А", "1005402"),
        ("yml_wheels_2011.xml", "pirelli 225 70R15C", "349"),
        ("yml_autoparts.xml", "механические", "53634212"),
    ],
)
def test_real_file(suite: Suite, seller: str, name: str, word: str, finds: str) -> None:
    path = shared_data() / "feeds" / name
    file = count_offers(path)
    result = suite.upload(path, seller)
    assert (result.exit_code, result.document["status"]) == (0, "SUCCEEDED"), result.document
    task = result.document
    counts = counts_of(task)
    errors = suite.errors(task)
    refused = {error["external_id"] for error in errors if error["level"] == "ERROR" and error["kind"] != "DUPLICATE"}

    assert int(task["statistics"]["total"]) == file.total
    assert counts.get("duplicates", 0) == file.duplicates
    assert counts.get("rejected_validation", 0) == len(refused)
    assert counts.get("added", 0) == len(file.distinct - refused)
    offers = suite.offers(seller)
    assert set(offers) == file.distinct - refused
    for external_id, offer in offers.items():
        assert offer["content"]["title"] == " ".join(file.titles[external_id].split())

    # Every issue names a line within its offer and the offer itself.
    for error in errors:
        ordinal = int(error["ordinal"])
        first = file.lines[ordinal - 1]
        last = file.lines[ordinal] if ordinal < file.total else 10**9
        assert first <= int(error["line"]) <= last, error
        expected_id = file.ids[ordinal - 1] or f"record:{ordinal}"
        assert error["external_id"] == expected_id, error
    by_code = Counter(error["code"] for error in errors)
    assert by_code["DUPLICATE_ID"] == file.duplicates

    suite.settle()
    hits = suite.search(word, seller)
    assert finds in {hit["external_id"] for hit in hits}
    nothing = suite.run("search", f"{word} qzxwv", "--seller", seller).document
    assert nothing["hint"] == {"unmatched": ["qzxwv"], "left_out": [], "query": word, "total": str(len(hits))}
    everything = suite.search("", seller)
    assert len(everything) == min(1000, len(offers))


def test_values_that_cannot_be_used(suite: Suite, seller: str) -> None:
    path = shared_data() / "feeds" / "yml_simple_bad_values.xml"
    file = count_offers(path)
    task = suite.upload(path, seller).document
    assert task["status"] == "SUCCEEDED", "one bad offer never fails a file"
    assert counts_of(task) == {"rejected_validation": 2, "duplicates": 1}
    assert suite.offers(seller) == {}
    errors = suite.errors(task)
    found = {(error["external_id"], error["field"]) for error in errors if error["level"] == "ERROR"}
    assert {("0", "price"), ("0", "currencyId")} <= found
    assert ("record:3", "id") in found
    [duplicate] = [error for error in errors if error["kind"] == "DUPLICATE"]
    assert int(duplicate["line"]) == file.lines[1]
    assert str(file.lines[0]) in duplicate["message"], "names the line of the first occurrence"
    price = next(error for error in errors if error["field"] == "price" and error["external_id"] == "0")
    assert price["value"] == "145,55,55,77"
    assert int(price["line"]) == path.read_text().splitlines().index("  <price>145,55,55,77</price>") + 1
    for error in errors:
        assert error["title"]
        assert error["message"]
        assert error["suggestion"]


def test_amounts_without_a_currency_have_that_of_the_load(suite: Suite, seller: str, tmp_path: Path) -> None:
    path = tmp_path / "bare.xml"
    path.write_text(
        '<classifeed version="1"><offers><offer id="a"><title>Kettle</title><price>5</price></offer></offers>'
        "</classifeed>"
    )
    refused = suite.upload(path, seller).document
    assert counts_of(refused) == {"rejected_validation": 1}
    [error] = suite.errors(refused)
    assert (error["code"], int(error["count"])) == ("CURRENCY_MISSING", 1)
    assert "--currency" in error["suggestion"]
    assert counts_of(suite.upload(path, seller, "--currency", "kzt").document) == {"added": 1}
    assert suite.offers(seller)["a"]["content"]["price"]["currency_code"] == "KZT"


def test_replace_semantics(suite: Suite, seller: str, tmp_path: Path) -> None:
    first = write_feed(tmp_path / "first.yml", 300)
    assert counts_of(suite.upload(first, seller).document) == {"added": 300}
    suite.settle()

    versions = {key: offer["version"] for key, offer in suite.offers(seller).items()}
    rows = "SELECT external_id, xmin::text, ctid::text FROM offers WHERE seller_id = %s ORDER BY external_id"
    before = suite.query("offers", rows, seller)
    assert counts_of(suite.upload(first, seller).document) == {"unchanged": 300}
    suite.settle()
    assert suite.query("offers", rows, seller) == before, "no row was written, not even in place"

    # 40 offers left out, 30 with another price, 20 new ones.
    ids = list(offer_ids(300))
    gone = frozenset(ids[10:50])
    text = write_feed(tmp_path / "second.yml", 320, skip=gone).read_text()
    dearer = ids[100:130]
    for external_id in dearer:
        at = text.index(f'<offer id="{external_id}"')
        start = text.index("<price>", at) + len("<price>")
        text = text[:start] + "3" + text[start + 1 :]  # prices of 200 and more: a factor that the price guard accepts
    second = tmp_path / "second.yml"
    second.write_text(text)
    task = suite.upload(second, seller).document
    assert counts_of(task) == {"added": 20, "updated": 30, "unchanged": 230, "removed": 40}
    suite.settle()
    offers = suite.offers(seller)
    assert set(offers) == set(offer_ids(320)) - gone
    changed = {key for key, offer in offers.items() if versions.get(key) != offer["version"]}
    assert changed == set(dearer) | set(list(offer_ids(320))[300:])
    found = {hit["external_id"] for hit in suite.search("", seller)}
    assert found == set(offers)
    removed = suite.run("offer", "show", seller, "default", ids[10])
    assert removed.document["status"] == "REMOVED"

    # A removed offer that comes back is new again.
    assert counts_of(suite.upload(first, seller).document) == {
        "added": 40, "updated": 30, "unchanged": 230, "removed": 20,
    }  # fmt: skip


def test_a_load_is_canceled_in_the_middle_and_the_one_before_is_run_again(
    suite: Suite, seller: str, tmp_path: Path
) -> None:
    small = write_feed(tmp_path / "small.yml", 300)
    first = suite.upload(small, seller).document
    kept = set(offer_ids(300))
    large = write_feed(tmp_path / "large.yml", 20_000, skip=frozenset(list(offer_ids(300))[:100]))
    with suite.start_command("feed", "upload", large, "--seller", seller) as uploading:

        def is_under_way() -> bool:
            load = suite.run("task", "show", seller, "default", "latest").document
            assert load["task_id"] == first["task_id"] or load["status"] == "IN_PROGRESS", load
            return load["task_id"] != first["task_id"] and int(load["statistics"]["total"]) > 0

        suite.wait(is_under_way, 120, "offers of the large file are counted")
        canceled = suite.run("task", "cancel", seller, "default", "latest")
        out, err = uploading.communicate(timeout=120)
    assert (canceled.exit_code, canceled.document["status"]) == (0, "CANCELED"), canceled.document
    assert uploading.returncode == 1, err
    assert json.loads(out)["error_code"] == "LOAD_CANCELED"
    number = canceled.document["task_id"]
    again = suite.run("task", "cancel", seller, "default", number).document
    assert (again["status"], again["end_time"]) == ("CANCELED", canceled.document["end_time"])
    assert kept < suite.offers(seller).keys() < kept | set(offer_ids(20_000)), "some were added, none was removed"

    undo = suite.run("task", "rerun", seller, "default", first["task_id"], "--allow-removals", "--timeout", "300")
    assert (undo.exit_code, undo.document["status"]) == (0, "SUCCEEDED"), undo.document
    assert undo.document["rerun_of"] == first["name"]
    assert suite.offers(seller).keys() == kept
    counts = counts_of(suite.run("task", "show", seller, "default", number).document)
    assert int(undo.document["statistics"]["removed"]) == counts["added"], "each added offer is counted and removed"

    [listed] = suite.run("feed", "list", "--seller", seller).document["feeds"]
    assert (listed["namespace"], listed["settings"]["source"]["url"]) == ("default", "")
    removed = suite.run("feed", "remove", "--seller", seller)
    assert (removed.exit_code, counts_of(removed.document["task"])) == (0, {"removed": 300}), removed.document
    assert suite.offers(seller) == {}


def test_make_manual_keeps_and_a_later_load_takes_back(suite: Suite, seller: str, tmp_path: Path) -> None:
    whole = write_feed(tmp_path / "whole.yml", 40)
    part = write_feed(tmp_path / "part.yml", 40, skip=frozenset(list(offer_ids(40))[:15]))
    suite.upload(whole, seller)
    task = suite.upload(part, seller, "--disposition", "MAKE_MANUAL").document
    assert counts_of(task) == {"unchanged": 25, "made_manual": 15}
    offers = suite.offers(seller)
    assert Counter(offer["origin"] for offer in offers.values()) == {"FEED": 25, "MANUAL": 15}
    # Offers made by hand: a load without them keeps them, even with DELETE.
    assert counts_of(suite.upload(part, seller).document) == {"unchanged": 25}
    suite.upload(whole, seller)
    assert Counter(offer["origin"] for offer in suite.offers(seller).values()) == {"FEED": 40}
    suite.settle()
    assert len(suite.search("", seller)) == 40


def test_namespaces_are_apart(suite: Suite, seller: str, tmp_path: Path) -> None:
    many = write_feed(tmp_path / "many.yml", 30)
    few = write_feed(tmp_path / "few.yml", 5)
    suite.upload(many, seller, "--namespace", "summer")
    suite.upload(few, seller, "--namespace", "winter")
    assert counts_of(suite.upload(few, seller, "--namespace", "winter").document) == {"unchanged": 5}
    assert len(suite.offers(seller, "summer")) == 30
    assert len(suite.offers(seller, "winter")) == 5
    refused = suite.upload(few, seller, "--namespace", "manual")
    assert refused.exit_code == 1
    assert refused.document["error"]["reason"] == "NAMESPACE_RESERVED"


@pytest.mark.parametrize("kind", ["truncated", "html", "torg_price", "empty", "php"])
def test_broken_file_changes_nothing(suite: Suite, seller: str, tmp_path: Path, kind: str) -> None:
    sound = write_feed(tmp_path / "sound.yml", 60)
    suite.upload(sound, seller)
    suite.settle()
    before = suite.offers(seller)
    broken = tmp_path / "broken.yml"
    raw = sound.read_bytes()
    expected: tuple[str, int] | None = None
    match kind:
        case "truncated":
            broken.write_bytes(raw[: len(raw) * 2 // 3])
            expected = ("MALFORMED_XML", broken.read_bytes().count(b"\n") + 1)
        case "html":
            broken.write_text("<!DOCTYPE html>\n<html><body>Not found</body></html>\n")
            expected = ("NOT_A_FEED", 1)
        case "php":
            broken.write_text("<br />\n<b>Fatal error</b>: Uncaught Exception in /var/www/feed.php on line 12\n")
            expected = ("NOT_A_FEED", 1)
        case "torg_price":
            broken = shared_data() / "feeds" / "torg_price_autoru_bad.xml"
            expected = ("MALFORMED_XML", 81)
        case "empty":
            broken.write_bytes(b"")
            expected = ("FILE_EMPTY", 0)
    result = suite.upload(broken, seller)
    task = result.document
    assert (result.exit_code, task["status"]) == (1, "FAILED"), task
    assert task["error_code"]
    assert len(task["error_message"].split()) > 5, "says in words what happened"
    if expected is not None:
        assert (task["error_code"], int(task["error_line"])) == expected
        assert (int(task["error_column"]) >= 1) is (kind != "empty")
    assert suite.offers(seller) == before
    assert counts_of(suite.upload(sound, seller).document) == {"unchanged": 60}, "the namespace accepts loads again"
