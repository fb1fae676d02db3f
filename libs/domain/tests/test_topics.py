"""The declarations of topics."""

from __future__ import annotations

import pytest

from classifeed_common.kafka import dlq
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS, FEEDS_OFFER_RESULTS, INDEX_SHARDS, declared, index_documents


def test_names_that_other_parts_of_the_suite_rely_on() -> None:
    assert FEEDS_OFFER_REQUESTS == "feeds.offer-requests.v1"
    assert FEEDS_OFFER_RESULTS == "feeds.offer-results.v1"
    assert index_documents("offers") == "index.documents.v1.offers"
    assert dlq(FEEDS_OFFER_REQUESTS) == "feeds.offer-requests.v1.dlq"


def test_requests_and_results_of_a_seller_lie_in_equal_numbers_of_partitions() -> None:
    assert declared(FEEDS_OFFER_REQUESTS).partitions == declared(FEEDS_OFFER_RESULTS).partitions == 8


def test_a_partition_of_documents_is_a_shard() -> None:
    assert declared(index_documents("points")).partitions == INDEX_SHARDS == 64


def test_dead_letters_outlive_the_records_of_their_topic() -> None:
    letters = declared(FEEDS_OFFER_REQUESTS).dead_letters
    assert letters.name == dlq(FEEDS_OFFER_REQUESTS)
    assert letters.partitions == 1
    assert letters.retention_ms > declared(FEEDS_OFFER_REQUESTS).retention_ms


@pytest.mark.parametrize("name", ["nobody.knows.v1", "index.documents.v1.", ""])
def test_an_undeclared_topic_is_refused_with_its_name(name: str) -> None:
    with pytest.raises(KeyError, match="declared nowhere"):
        declared(name)
