from __future__ import annotations

import base64

import pytest

from classifeed_common.errors import InvalidArgument
from classifeed_common.rpc.paging import read_page_token, write_page_token


@pytest.mark.parametrize("key", ["a", "тест/1", "x" * 256, ">>>???"])
def test_a_token_gives_back_its_key_and_is_safe_in_a_url(key: str) -> None:
    token = write_page_token(key)
    assert read_page_token(token) == key
    assert token.isascii()
    assert not set(token) & set("+/&?#")


def test_no_token_begins_with_the_first_page() -> None:
    assert read_page_token("") == ""


@pytest.mark.parametrize("token", ["a", "YQ", "Y Q==", "/w==", "gQ==", base64.b64encode(b"a\0b").decode()])
def test_what_no_method_gave_out_is_refused_by_its_field(token: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        read_page_token(token)
    assert raised.value.reason == "PAGE_TOKEN_INVALID"
    assert [violation.field for violation in raised.value.violations] == ["page_token"]
