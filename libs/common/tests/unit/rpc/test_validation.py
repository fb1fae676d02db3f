"""Refusals of requests that break the rules of their proto."""

from __future__ import annotations

import pytest

from classifeed.documents.v1.receiver_service_pb2 import PushBatchRequest
from classifeed_common.errors import InvalidArgument
from classifeed_common.rpc.validation import check_request


@pytest.mark.parametrize(("client", "words"), [("", "is not set"), ("Offers!", "pattern")])
def test_what_is_missing_is_not_reported_as_a_pattern(client: str, words: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        check_request(PushBatchRequest(client=client))
    descriptions = {violation.field: violation.description for violation in caught.value.violations}
    assert words in descriptions["client"]
