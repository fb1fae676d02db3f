"""The export of picture links: complete, distinguishable from a truncated one, and stable under concurrent changes."""

from __future__ import annotations

from typing import Any

import pytest

from classifeed.feeds.v1.offer_requests_pb2 import OfferRecord
from classifeed.offers.v1.offer_service_pb2 import ExportPictureUrlsResponse
from classifeed_domain.pictures.urls import UrlDigest
from classifeed_offers.app.pictures.export_picture_urls import export_picture_urls
from classifeed_offers.domain.offers import hash_of


def pictured(records: Any, external_id: str, *urls: str) -> OfferRecord:
    record: OfferRecord = records.good(external_id)
    record.content.picture_urls.extend(urls)
    record.content_hash = hash_of(record.content)
    return record


@pytest.fixture
def owner_with_pictures(owner: Any) -> Any:
    owner.requests_pictures = True
    return owner


def links(parts: list[ExportPictureUrlsResponse]) -> list[str]:
    return [url for part in parts for url in part.urls.urls]


async def test_each_link_is_sent_between_the_time_and_the_end(
    owner_with_pictures: Any, records: Any, new_load: Any
) -> None:
    owner = owner_with_pictures
    await owner.load(new_load([pictured(records, f"o{n}", f"https://a/{n}", "https://a/all") for n in range(7)]))
    await owner.load(new_load([pictured(records, "gone", "https://a/gone")], namespace="other"))
    await owner.load(new_load([records.good("new")], namespace="other", task=2))
    parts = [part async for part in export_picture_urls(owner.database, slice_offers=3)]
    assert [part.WhichOneof("part") for part in parts] == ["snapshot_time", "urls", "urls", "urls", "end"]
    assert set(links(parts)) == {f"https://a/{n}" for n in range(7)} | {"https://a/all"}
    digest = UrlDigest()
    digest.add(reversed(links(parts)))
    assert (parts[-1].end.count, parts[-1].end.digest) == (digest.count, digest.digest)
    assert parts[0].snapshot_time.ToMicroseconds() > 0


async def test_no_message_has_more_than_a_thousand_links(owner_with_pictures: Any, records: Any, new_load: Any) -> None:
    owner = owner_with_pictures
    many = [f"https://a/{n}" for n in range(1500)]
    await owner.load(new_load([pictured(records, "a", *many), pictured(records, "b", *many[1000:])]))
    parts = [part async for part in export_picture_urls(owner.database)]
    assert max(len(part.urls.urls) for part in parts) <= 1000
    assert set(links(parts)) == set(many)  # the first 1,024 of one offer, and the rest of the other


async def test_a_link_that_one_offer_has_throughout_is_there_whatever_loads_do(
    owner_with_pictures: Any, records: Any, new_load: Any
) -> None:
    owner = owner_with_pictures
    batch = [pictured(records, f"o{n}", f"https://a/{n}") for n in range(4)]
    await owner.load(new_load(batch))
    export = export_picture_urls(owner.database, slice_offers=1)
    sent = [await anext(export), await anext(export)]
    # The first offer was sent; another offer gets new links, and the last one changes and keeps its link.
    batch[0] = pictured(records, "o0", "https://a/new")
    batch[3] = pictured(records, "o3", "https://a/other", "https://a/3")
    await owner.load(new_load(batch, task=2))
    sent += [part async for part in export]
    assert {f"https://a/{n}" for n in range(1, 4)} <= set(links(sent))


def test_a_link_that_is_missing_or_repeated_changes_the_digest() -> None:
    def digest(*urls: str) -> bytes:
        made = UrlDigest()
        made.add(urls)
        return made.digest

    assert digest("a", "b") == digest("b", "a")
    assert len({digest(), digest("a"), digest("a", "a"), digest("a", "b"), digest("b")}) == 5
