"""Retries of each class of failures, with a fake clock; every failure has a class."""

from __future__ import annotations

from datetime import timedelta
from itertools import combinations

import pytest

from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_common.fetch import FETCH_FAULTS
from classifeed_imaging import faults
from classifeed_pictures.domain.lifecycle import retries
from classifeed_pictures.domain.lifecycle.orders import Copy, Download
from classifeed_pictures.domain.lifecycle.retries import CODES, FailureClass, class_of
from classifeed_pictures.domain.lifecycle.robots_tags import NOINDEX

from .lives import Life, info

MINUTE, DAY = 60, 86400
OFTEN = [MINUTE, 4 * MINUTE, 16 * MINUTE, 64 * MINUTE, 256 * MINUTE, 1024 * MINUTE, DAY, DAY]
RARELY = [DAY, 2 * DAY, 4 * DAY, 7 * DAY, 7 * DAY]
OWN = {
    value
    for name, value in vars(retries).items()
    if name.isupper() and isinstance(value, str) and value.startswith("PICTURE_")
}


def _failure(code: str, status: int = 0) -> LoadFailure:
    return LoadFailure(code=code, http_status=status)


@pytest.mark.parametrize(
    ("failure", "pauses", "reported_after"),
    [
        pytest.param(_failure("CONNECT_REFUSED"), OFTEN, 3, id="host down"),
        pytest.param(_failure("CONNECT_TIMEOUT"), OFTEN, 3, id="host that does not respond"),
        pytest.param(_failure("TLS_EXPIRED"), OFTEN, 3, id="certificate"),
        pytest.param(_failure("DNS_FAILED"), OFTEN, 3, id="name servers down"),
        pytest.param(_failure("HTTP_TOO_MANY_REQUESTS", 429), OFTEN, 3, id="quota of the host"),
        pytest.param(_failure("HTTP_UNAVAILABLE", 503), OFTEN, 3, id="503"),
        pytest.param(_failure("HTTP_SERVER_ERROR", 500), OFTEN, 3, id="500"),
        pytest.param(_failure("READ_TIMEOUT"), OFTEN, 3, id="timeout"),
        pytest.param(_failure("TOTAL_TIMEOUT"), OFTEN, 3, id="timeout of the whole"),
        pytest.param(_failure("HTTP_NOT_FOUND", 404), RARELY, 1, id="404"),
        pytest.param(_failure("HTTP_FORBIDDEN", 403), RARELY, 1, id="403"),
        pytest.param(_failure("DNS_NOT_FOUND"), RARELY, 1, id="no such host"),
        pytest.param(_failure("PICTURE_NOT_A_PICTURE"), RARELY, 1, id="not a picture"),
        pytest.param(_failure("PICTURE_UNSUPPORTED"), RARELY, 1, id="SVG"),
        pytest.param(_failure("PICTURE_BROKEN"), RARELY, 1, id="broken"),
        pytest.param(_failure("PICTURE_QUOTA_EXCEEDED"), RARELY, 1, id="quota of the namespace"),
        pytest.param(_failure("PICTURE_NAMESPACE_UNKNOWN"), RARELY, 1, id="no such namespace"),
        pytest.param(_failure("PICTURE_INTERNAL_ERROR"), RARELY, 1, id="given up"),
    ],
)
def test_what_may_pass_is_tried_again_after_the_pauses_of_its_class(
    failure: LoadFailure, pauses: list[int], reported_after: int
) -> None:
    life = Life()
    [order] = life.happen(life.request()).orders
    for number, pause_s in enumerate(pauses, start=1):
        assert isinstance(order, Download)
        failed = life.happen(life.loaded(failure, order.attempt))
        assert failed.orders == []
        assert bool(failed.waiting) is (number >= reported_after)
        assert life.state is not None
        assert life.state.next_attempt_at == life.now + timedelta(seconds=pause_s)
        life.pass_time(seconds=pause_s - 1)
        assert life.happen(life.look(), life.request(reference="2")).orders == []
        life.pass_time(seconds=1)
        [order] = life.happen(life.look()).orders
    assert life.happen(life.loaded(info(), order.attempt)).waiting["offers"].result == info()


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(_failure("HTTP_GONE", 410), id="410"),
        pytest.param(_failure("HTTP_CLIENT_ERROR", 451), id="451"),
        pytest.param(_failure("TOO_LARGE"), id="too large"),
        pytest.param(_failure("RATIO_TOO_HIGH"), id="too large without its compression"),
        pytest.param(_failure("PICTURE_TOO_MANY_PIXELS"), id="too many pixels"),
        pytest.param(_failure("PICTURE_DECODE_TIMEOUT"), id="too slow to decode"),
        pytest.param(_failure("URL_SCHEME"), id="no link"),
    ],
)
def test_what_will_not_pass_is_tried_again_on_request_alone(failure: LoadFailure) -> None:
    life = Life()
    [order] = life.happen(life.request()).orders
    assert isinstance(order, Download)
    assert life.happen(life.loaded(failure, order.attempt)).waiting["offers"].result == failure
    assert life.state is not None
    assert life.state.next_attempt_at is None
    life.pass_time(days=1, seconds=-1)
    assert life.happen(life.request(reference="2")).orders == []
    life.pass_time(days=400)
    assert life.happen(life.look()).orders == []
    assert [type(order) for order in life.happen(life.request(reference="3")).orders] == [Download]


def test_a_copy_that_fails_is_tried_again_ever_less_often_until_it_is_there() -> None:
    life = Life()
    [order] = life.happen(life.request()).orders
    assert isinstance(order, Download)
    life.happen(life.loaded(info(), order.attempt))
    [copy] = life.happen(life.request("shops")).orders
    for days in (1, 2, 4, 7, 7):
        assert isinstance(copy, Copy)
        life.happen(life.loaded(_failure("PICTURE_QUOTA_EXCEEDED"), copy.attempt, "shops"))
        life.pass_time(days=days, seconds=-1)
        assert life.happen(life.look()).orders == []
        life.pass_time(seconds=1)
        [copy] = life.happen(life.look()).orders
    life.happen(life.loaded(info("shops"), copy.attempt, "shops"))
    assert life.state is not None
    assert life.state.holdings["shops"].failed_attempts == 0


def test_each_failure_that_there_is_has_one_class() -> None:
    for one, other in combinations(CODES.values(), 2):
        assert not one & other
    known = {*FETCH_FAULTS, *faults.CODES, *OWN, NOINDEX}
    assert known == {code for codes in CODES.values() for code in codes}


def test_what_a_newer_version_reports_is_tried_again_soon() -> None:
    assert class_of(_failure("OF_A_NEWER_VERSION")) is FailureClass.TRANSIENT
