from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from classifeed.feeds.v1 import load_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, OfferRecord
from classifeed_feeds.batches import RunAddress
from classifeed_feeds.first_pass import scan_feed
from classifeed_feeds.issue_words import IssueWords
from classifeed_feeds.scanning.scan import FeedScan
from classifeed_feeds.second_pass import read_batches
from classifeed_feeds.source.limits import DEFAULT_LIMITS, Limits
from classifeed_feeds.source.source import open_source

PROJECT = Path(__file__).parents[3]
SHARED = Path(os.environ.get("CLASSIFEED_SHARED_DATA") or PROJECT.parent / "shared" / "data") / "feeds"


@pytest.fixture
def shared_feeds() -> Path:
    if not SHARED.is_dir():
        reason = "the shared feeds are not there (CLASSIFEED_SHARED_DATA, else ../shared/data)"
        if "shared" in os.environ.get("CLASSIFEED_REQUIRE", "").split(","):
            pytest.fail(reason)
        pytest.skip(reason)
    return SHARED


@dataclass(frozen=True)
class Loaded:
    scan: FeedScan
    batches: list[OfferBatch]

    @property
    def records(self) -> list[OfferRecord]:
        return [record for batch in self.batches for record in batch.records]

    @property
    def codes(self) -> list[tuple[str, str]]:
        return [(error.external_id, error.code) for record in self.records for error in record.errors]


Load = Callable[..., Loaded]
Scan = Callable[..., FeedScan]
WriteYml = Callable[..., bytes]
WriteOffer = Callable[..., str]


@pytest.fixture
def scan(tmp_path: Path) -> Scan:
    """Run the first pass over bytes or a file."""

    def run(content: bytes | Path, limits: Limits = DEFAULT_LIMITS) -> FeedScan:
        path = content if isinstance(content, Path) else tmp_path / "feed"
        if isinstance(content, bytes):
            path.write_bytes(content)
        return scan_feed(open_source(path, limits), tmp_path)

    return run


@pytest.fixture
def load(scan: Scan) -> Load:
    """Run both passes over bytes or a file."""

    def run(content: bytes | Path, *, run: int = 1, patch: bool = False, limits: Limits = DEFAULT_LIMITS,
            default_currency: str = "") -> Loaded:  # fmt: skip
        scanned = scan(content, limits)
        mode = load_pb2.LOAD_MODE_PATCH if patch else load_pb2.LOAD_MODE_REPLACE
        address = RunAddress("shop", "default", 7, run, mode)
        sealed = list(read_batches(scanned, address, default_currency=default_currency))
        batches = [OfferBatch.FromString(batch.value) for batch in sealed]
        for one, batch in zip(sealed, batches, strict=True):
            assert (one.batch_id, one.records, one.digest) == (batch.batch_id, len(batch.records), batch.digest)
        words = IssueWords.of_format(scanned.format)
        for record in (record for batch in batches for record in batch.records):
            for error in record.errors:
                assert not error.message, "an issue travels without sentences"
                words.describe(error)
        return Loaded(scanned, batches)

    return run


@pytest.fixture
def yml() -> WriteYml:
    """Write a YML file around offers."""

    def write(
        *offers: str,
        categories: str = '<category id="1">Кухня</category>',
        currencies: str = '<currency id="RUB" rate="1"/>',
        prolog: str = '<?xml version="1.0" encoding="UTF-8"?>\n',
        encoding: str = "utf-8",
    ) -> bytes:
        text = (
            f"{prolog}<yml_catalog>\n<shop>\n<currencies>{currencies}</currencies>\n"
            f"<categories>{categories}</categories>\n<offers>\n"
            + "\n".join(offers)
            + "\n</offers>\n</shop>\n</yml_catalog>\n"
        )
        return text.encode(encoding)

    return write


@pytest.fixture
def offer() -> WriteOffer:
    """Write a valid offer, with elements replaced or added."""

    def write(external_id: str = "a1", extra: str = "", **elements: str | None) -> str:
        values: dict[str, str | None] = {
            "name": "Чайник", "price": "100.50", "currencyId": "RUB", "categoryId": "1", "url": "https://shop.test/1",
            **elements,
        }  # fmt: skip
        inside = "".join(f"<{tag}>{text}</{tag}>" for tag, text in values.items() if text is not None)
        return f'<offer id="{external_id}">{inside}{extra}</offer>'

    return write
