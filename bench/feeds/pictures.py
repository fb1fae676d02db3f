"""A load with pictures from hosts on the loopback, a repeated load, and a load that removes offers."""

from __future__ import annotations

import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from tests.e2e.suite import Suite
from tests.e2e.waiting import wait_until

from bench.kit.generated_feed import offer_ids, write_feed
from bench.kit.report import Report, by_name
from bench.kit.running import cpu_of_servers, cpu_of_services
from bench.pictures.hosts import Hosts

OFFERS: Final = 5_000
HOSTS: Final = 500
DIVISOR: Final = 2  # pictures of 512 x 384 and 50 KB
KNOBS: Final = {
    "CLASSIFEED_OFFERS_PICTURES": "true",
    "CLASSIFEED_FETCH_ALLOW_LOOPBACK": "1",
    "CLASSIFEED_PICTURES_COMPARE_S": "30",
    "CLASSIFEED_PICTURES_DELETE_AFTER_S": "20",
}
_SELLER: Final = "pictures"
_LINKS: Final = (2, 2, 3, 2, 3)  # links of each offer, in turn: 12 for 5 offers
_SLOW: Final = 50  # 1 host in 50 is slow
_REMOVED: Final = 20  # 1 offer in 20 leaves the feed in the last load
_SAMPLE: Final = 25
_LIMIT_S: Final = 3000.0
_STORED: Final = "SELECT count(*) FROM stored_pictures"
_CYCLE: Final = 150  # 150 links have one of each bad kind: 12,000 links have fewer than a load lists for a code
_BAD: Final = {"gone": "PICTURE_NOT_FOUND", "html": "PICTURE_NOT_A_PICTURE", "png": "PICTURE_TOO_MANY_PIXELS"}
_Links = Sequence[Sequence[str]]


def measure_pictures(suite: Suite, hosts: Hosts, folder: Path, offers: int, report: Report) -> None:
    """Load a feed and wait for its pictures, load it again, then without some offers; check and report the outcome.

    Args:
        suite: a suite that runs with KNOBS and has no pictures yet.
        hosts: the hosts of the pictures.
        folder: the folder of the feed.
        offers: the number of offers in the feed.
        report: takes the figures.

    Raises:
        AssertionError: an outcome differs from what the suite promises.
    """
    links = _links_of(offers, hosts)
    every = [link for each in links for link in each]
    bad = Counter(code for link in every if (code := _code_of(link)))
    sound = len(every) - bad.total()
    print(f"\n{offers} offers with {len(every)} links to {len(hosts.addresses)} hosts; bad ones: {dict(bad)}")
    file = write_feed(folder / "pictures.yml", offers, links=links)

    before, began_s = _cpu(suite), time.perf_counter()
    task = _load(suite, file)
    loaded_s = time.perf_counter() - began_s
    _await_explanation(suite, offers - 1, " awaited.")
    _wait(lambda: _count(suite, "pictures", _STORED) == sound, "every sound picture")
    stored_s = time.perf_counter() - began_s
    _settle(suite)
    settled_s = time.perf_counter() - began_s
    after = _cpu(suite)
    cost_ms = {name: (after[name] - before[name]) / len(every) * 1e3 for name in after}
    report.show("links", len(every))
    report.show("seconds to the result", loaded_s)
    report.show("pictures/s until all sound ones are stored", sound / stored_s)
    report.show("seconds until settled", settled_s)
    report.show("CPU ms/link", sum(cost_ms.values()), by_name(cost_ms))
    _check_offers(suite, links)
    _check_errors(suite, task, every)
    _await_explanation(suite, 0, f"The first, {links[0][0]}: it responded with status 404")
    _await_explanation(suite, offers - 1, f"Its {len(links[-1])} pictures are stored.")
    _check_hits(suite)

    requests, began_s = hosts.requests(), time.perf_counter()
    again = _load(suite, file)
    _settle(suite)
    assert hosts.requests() == requests, f"{hosts.requests() - requests} requests of a load without news"
    _check_errors(suite, again, every)
    print(f"{requests} requests to the hosts; loaded again in {time.perf_counter() - began_s:.0f} s: none")

    removed = links[::_REMOVED]
    kept = sound - sum(not _code_of(link) for each in removed for link in each)
    left = frozenset(list(offer_ids(offers))[::_REMOVED])
    began_s = time.perf_counter()
    _load(suite, write_feed(folder / "fewer.yml", offers, links=links, skip=left))
    marked = "SELECT count(*) FROM pictures WHERE delete_mark_at IS NOT NULL"
    _wait(lambda: _count(suite, "pictures", marked) >= sound - kept, "a first comparison to mark removed pictures")
    assert _count(suite, "pictures", _STORED) == sound, "none is gone before the second one"
    _wait(lambda: _count(suite, "pictures", _STORED) == kept, "a second one to remove them")
    print(f"without {len(left)} offers: {sound - kept} pictures are gone after {time.perf_counter() - began_s:.0f} s")


def _links_of(offers: int, hosts: Hosts) -> list[list[str]]:
    """Return the links of each offer, all different; each cycle of links has one of each bad kind."""
    bad = dict(enumerate(_BAD))
    found: list[list[str]] = []
    number = 0
    for offer in range(offers):
        found.append([])
        for _ in range(_LINKS[offer % len(_LINKS)]):
            host = number % len(hosts.addresses)
            suffix = bad.get(number % _CYCLE, "late" if host % _SLOW == _SLOW - 1 else "jpg")
            found[-1].append(f"http://{hosts.addresses[host]}/{number}.{suffix}")
            number += 1
    return found


def _code_of(link: str) -> str | None:
    """Return the error code that a seller gets for a bad link; None for a good one."""
    return _BAD.get(link.rpartition(".")[2])


def _load(suite: Suite, file: Path) -> dict[str, Any]:
    result = suite.upload(file, _SELLER, timeout_s=_LIMIT_S)
    assert result.exit_code == 0, result.document
    return result.document


def _cpu(suite: Suite) -> dict[str, float]:
    return cpu_of_services(suite) | cpu_of_servers(suite)


def _count(suite: Suite, service: str, query: str) -> int:
    [(count,)] = suite.query(service, query)
    return int(count)


def _settle(suite: Suite) -> None:
    waiting = "SELECT count(*) FROM offers WHERE pictures_requested_at IS NOT NULL"
    _wait(lambda: _count(suite, "offers", waiting) == 0, "a result for each picture")
    suite.settle(_LIMIT_S)


def _wait(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, _LIMIT_S, what, 1)


def _check_offers(suite: Suite, links: _Links) -> None:
    """Check that each offer has the state of each of its pictures: stored or failed."""
    found = suite.offers(_SELLER)
    for external_id, urls in zip(offer_ids(len(links)), links, strict=True):
        states = {each["url"]: each["state"] for each in found[external_id]["pictures"]}
        assert states == {url: "FAILED" if _code_of(url) else "STORED" for url in urls}, (external_id, states)


def _check_errors(suite: Suite, task: dict[str, Any], links: Sequence[str]) -> None:
    """Check that the load has one warning for each bad link, with the line of the offer and a suggestion."""
    errors = [each for each in suite.errors(task) if each["kind"] == "PICTURE"]
    found = Counter((each["excerpt"], each["code"]) for each in errors)
    assert found == Counter((link, code) for link in links if (code := _code_of(link))), found
    assert all(int(each["line"]) and each["message"] and each["suggestion"] for each in errors), errors[0]


def _await_explanation(suite: Suite, offer: int, words: str) -> None:
    """Wait until `offer explain` prints `words` about the pictures of an offer."""
    external_id = list(offer_ids(offer + 1))[-1]

    def is_explained() -> bool:
        steps = suite.run("offer", "explain", _SELLER, "default", external_id).document["steps"]
        return any(words in step["text"] for step in steps if step["stage"] == "PICTURES")

    _wait(is_explained, f"offer {external_id} to be explained by {words!r}")


def _check_hits(suite: Suite) -> None:
    """Check that the picture addresses of hits return pictures."""
    hits = suite.run("search", "Диван", "--seller", _SELLER, "--limit", str(_SAMPLE)).document["hits"]
    addresses = [url for hit in hits for url in hit["pictures"] if "/get/offers/" in url]
    assert addresses, hits
    for address in addresses:
        with urllib.request.urlopen(address, timeout=30) as response:
            assert response.headers["Content-Type"].startswith("image/"), address
            assert response.read()
