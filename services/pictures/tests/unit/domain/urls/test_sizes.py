"""The limit on the total text of the URLs of a request."""

from __future__ import annotations

import pytest

from classifeed_common.errors import InvalidArgument
from classifeed_pictures.domain.urls.sizes import URLS_LIMIT_BYTES, check_size


def test_urls_have_a_size_together() -> None:
    half = "я" * (URLS_LIMIT_BYTES // 4)
    check_size([half, half])
    check_size(["\ud800"])
    with pytest.raises(InvalidArgument, match="Send fewer URLs") as raised:
        check_size([half, half, "a"])
    assert raised.value.reason == "URLS_TOO_LARGE"
