"""Resource names: the rules of the protos, in words."""

from __future__ import annotations

from collections.abc import Callable

import grpc
import protovalidate
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from classifeed.feeds.v1 import explanation_pb2, feed_service_pb2, format_pb2
from classifeed_client import Refused, feed_name, format_name, offer_name, seller_name, task_name

ALPHABET = "abzABZ019._-/ \néЯ"


def accepted(make: Callable[[], str]) -> str | None:
    try:
        return make()
    except Refused:
        return None


@given(st.text(ALPHABET, max_size=66), st.text(ALPHABET, max_size=66))
@example("a" * 64, "b" * 64)
@example("a" * 65, "b")
@example("shop\n", "b")
def test_what_is_refused_here_is_what_the_service_refuses(seller: str, namespace: str) -> None:
    request = feed_service_pb2.GetFeedRequest(name=f"sellers/{seller}/feeds/{namespace}")
    served = not protovalidate.collect_violations(request)
    assert (accepted(lambda: feed_name(seller, namespace)) is not None) == served


@given(st.text(ALPHABET, max_size=34))
def test_formats_are_named_as_the_service_names_them(name: str) -> None:
    request = format_pb2.GetFormatFileRequest(name=f"formats/{name}", kind="FORMAT_FILE_KIND_SAMPLE")
    served = not protovalidate.collect_violations(request)
    assert (accepted(lambda: format_name(name)) is not None) == served


@given(st.text(max_size=258))
@example("a/b\nc")
@example("")
@example("x" * 256)
@example("x" * 257)
def test_any_id_of_an_offer_that_has_a_length(external_id: str) -> None:
    request = explanation_pb2.ExplainOfferRequest(name=f"sellers/s/feeds/n/offers/{external_id}")
    served = not protovalidate.collect_violations(request)
    assert (accepted(lambda: offer_name("s", "n", external_id)) is not None) == served


def test_names_are_those_of_the_resources() -> None:
    assert seller_name("Shop.1") == "sellers/Shop.1"
    assert task_name("shop", "default", 7) == "sellers/shop/feeds/default/tasks/7"
    assert offer_name("shop", "default", "a/b") == "sellers/shop/feeds/default/offers/a/b"


def test_refusal_says_in_words_what_is_allowed() -> None:
    with pytest.raises(Refused) as caught:
        feed_name("my shop", "default")
    assert str(caught.value) == (
        "The seller 'my shop' must begin with a letter or digit, and may have letters (a-z, A-Z), digits, . _ -, "
        "at most 64 characters."
    )
    assert (caught.value.reason, caught.value.metadata) == ("REQUEST_INVALID", {"field": "seller"})
    assert caught.value.code is grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(Refused, match="'Летний' may have small letters") as caught:
        feed_name("shop", "Летний")
    assert caught.value.metadata == {"field": "namespace"}
