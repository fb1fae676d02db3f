"""After a restore of a database or an index from before a load, the search becomes fresh and complete automatically."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.kit.generated_feed import offer_ids, write_feed

from classifeed_devkit.testing.campaigns import IS_LONG, in_campaigns
from tests.e2e.suite import Suite

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(3000)]

_OFFERS = 2_000 if IS_LONG else 600
_PRICE_STEP = 10_000
# The promise is two minutes on an otherwise idle machine.
_LIMIT_S = 1200


class Load:
    """A seller with revisions of a feed; each revision changes every price, and the first and last offers."""

    def __init__(self, suite: Suite, seller: str, folder: Path) -> None:
        self._suite, self._seller, self._folder = suite, seller, folder
        ids = list(offer_ids(_OFFERS, prefix=seller))
        self._without_last, self._without_first = frozenset(ids[:-100]), frozenset(ids[100:])
        self._all = frozenset(ids)

    def upload(self, revision: int) -> None:
        wanted = self._without_last if revision % 2 else self._without_first
        file = self._folder / f"{revision}.yml"
        write_feed(file, _OFFERS, prefix=self._seller, revision=revision * _PRICE_STEP, skip=self._all - wanted)
        result = self._suite.upload(file, self._seller, timeout_s=900)
        assert result.exit_code == 0, result.document

    def is_fresh(self, revision: int) -> bool:
        """Return whether the search has exactly the offers of a revision."""
        found = [
            self._suite.run("search", query, "--seller", self._seller, "--limit", "1")
            for query in (f"price:[{revision * _PRICE_STEP} TO *]", "*")
        ]
        totals = [int(each.document["total"]) for each in found if each.exit_code == 0]
        return totals == [len(self._without_last)] * 2


def put_back_database(service: str) -> Callable[[Suite], Callable[[], None]]:
    def back_up(suite: Suite) -> Callable[[], None]:
        dsn = suite.status()["postgres"][service]
        server = suite.database_server()
        backup = server.back_up(dsn)
        return lambda: server.restore(dsn, backup)

    return back_up


def put_back_folder(suite: Suite) -> Callable[[], None]:
    def restore() -> None:
        suite.kill("searcher")
        copy.rename(folder.with_name("copy"))
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_name("copy").rename(folder)

    folder = suite.data / "services" / "searcher" / "offers"
    copy = folder.with_name("backup")
    shutil.copytree(folder, copy)
    return restore


def lose_folder(suite: Suite) -> Callable[[], None]:
    folder = suite.data / "services" / "searcher" / "offers"

    def lose() -> None:
        suite.kill("searcher")
        shutil.rmtree(folder, ignore_errors=True)

    return lose


_LOSSES = {
    "searcher: folder lost": lose_folder,
    "searcher: folder restored": put_back_folder,
    "indexer": put_back_database("indexer"),
    "receiver": put_back_database("receiver"),
    "offers": put_back_database("offers"),
    "moderation": put_back_database("moderation"),
}


# Only the long campaign has all losses.
_DEFAULT = ["receiver", "offers"]


@pytest.mark.parametrize("lost", _LOSSES if IS_LONG else _DEFAULT)
@in_campaigns
def test_search_is_fresh_again_after_a_restore(suite: Suite, seller: str, tmp_path: Path, lost: str) -> None:
    load = Load(suite, seller, tmp_path)
    load.upload(1)
    suite.settle(timeout_s=900)
    restore = _LOSSES[lost](suite)
    suite.settle(timeout_s=900)
    load.upload(2)
    suite.settle(timeout_s=900)
    assert load.is_fresh(2)

    began_s = time.monotonic()
    restore()
    named: list[str] = []
    was_stale = False
    while not was_stale or not load.is_fresh(2):
        seconds = time.monotonic() - began_s
        assert seconds < _LIMIT_S, (lost, named)
        for service, row in suite.status()["services"].items():
            named += [f"{seconds:.0f} s {service}: {line}" for line in row["problems"]]
        # The first poll may still find the state before the loss was noticed.
        was_stale = was_stale or seconds > 20 or not load.is_fresh(2)
        time.sleep(0.5)
    fresh_s = time.monotonic() - began_s
    suite.settle(timeout_s=_LIMIT_S)
    settled_s = time.monotonic() - began_s
    print(f"{lost}: fresh after {fresh_s:.0f} s, index equal to the registry after {settled_s:.0f} s")  # noqa: T201
    print("\n".join(dict.fromkeys(named)))  # noqa: T201
    assert load.is_fresh(2)
    # Changes after the restore reach the search, too: none counts as a repetition.
    load.upload(3)
    suite.settle(timeout_s=_LIMIT_S)
    assert load.is_fresh(3)
    stored = suite.query(
        "offers", "SELECT external_id, version, published_version FROM offers WHERE seller_id = %s", seller
    )
    assert all(published == version for _, version, published in stored)
    [(documents,)] = suite.query("receiver", "SELECT count(*) FROM documents WHERE status = 1")
    [(texts,)] = suite.query(
        "moderation", "SELECT count(*) FROM subjects WHERE seller_id = %s AND status = 'APPROVED'", seller
    )
    assert texts == _OFFERS, "moderation has read and judged the lost texts again"
    total = int(suite.run("search", "*", "--limit", "1").document["total"])
    assert total == documents, "as many are found as the registry has"
