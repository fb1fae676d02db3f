from __future__ import annotations

import pytest

from classifeed_common.fetch import FetchFailed, check_url
from classifeed_common.fetch.addresses.ports import is_open_port


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("https://shop.example.com/feed.xml", "https://shop.example.com/feed.xml"),
        ("HTTPS://Shop.Example.COM:443/Feed.xml?a=B&c=%20#top", "https://shop.example.com/Feed.xml?a=B&c=%20"),
        ("http://shop.example.com", "http://shop.example.com/"),
        ("http://shop.example.com?x=1", "http://shop.example.com/?x=1"),
        ("http://shop.example.com.:8080/", "http://shop.example.com:8080/"),
        ("http://shop.example.com:/", "http://shop.example.com/"),
        ("https://магазин.рф/выгрузка.xml", "https://xn--80aairftm.xn--p1ai/%D0%B2%D1%8B%D0%B3%D1%80%D1%83%D0%B7%D0%BA%D0%B0.xml"),
        ("https://shop。example。com/", "https://shop.example.com/"),
        ("https://faß.example.com/", "https://xn--fa-hia.example.com/"),
        ("https://under_score.example.com/", "https://under_score.example.com/"),
        ("https://shop.example.com/a@b:c/{x}|y", "https://shop.example.com/a@b:c/%7Bx%7D%7Cy"),
        ("https://93.184.216.34/feed", "https://93.184.216.34/feed"),
        ("https://[2606:4700:0::1111]:8443/feed", "https://[2606:4700::1111]:8443/feed"),
    ],
)  # fmt: skip
def test_a_link_is_read_as_a_browser_reads_it(url: str, read: str) -> None:
    assert str(check_url(url)) == read


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("", "URL_INVALID"),
        ("shop.example.com/feed.xml", "URL_INVALID"),
        ("http:/shop.example.com/", "URL_INVALID"),
        ("http:///feed.xml", "URL_INVALID"),
        ("http://shop.example.com/" + "a" * 2048, "URL_INVALID"),
        ("http://shop..example.com/", "URL_INVALID"),
        ("http://shop.example.com../", "URL_INVALID"),
        ("http://-shop.example.com/", "URL_INVALID"),
        ("http://" + "a" * 64 + ".com/", "URL_INVALID"),
        ("http://" + "a." * 127 + "com/", "URL_INVALID"),
        ("http://shop.example.com:http/", "URL_INVALID"),
        ("http://shop.example.com:65536/", "URL_INVALID"),
        ("http://shop.example.com:0/", "URL_INVALID"),
        ("http://shop.example.com:-80/", "URL_INVALID"),
        ("http://shop.example.com:８０/", "URL_INVALID"),
        ("http://[2606:4700::1111/", "URL_INVALID"),
        ("http://[2606:4700::1111]x/", "URL_INVALID"),
        ("http://shop.example.com/a b", "URL_INVALID"),
        (" http://shop.example.com/", "URL_INVALID"),
        ("http://shop.example.com/\r\nX-Evil: 1", "URL_INVALID"),
        ("http://sho\u200bp.example.com/", "URL_INVALID"),
        ("http://shop.example.com\\@good.example.com/", "URL_INVALID"),
        ("mailto:seller@example.com", "URL_SCHEME"),
        ("ftp://shop.example.com/feed.xml", "URL_SCHEME"),
        ("http://user:word@shop.example.com/", "URL_HAS_CREDENTIALS"),
        ("http://@shop.example.com/", "URL_HAS_CREDENTIALS"),
        ("http://shop.example.com:22/", "URL_PORT"),
        ("http://shop.example.com:6379/", "URL_PORT"),
        ("http://localhost/", "ADDRESS_REFUSED"),
        ("http://intranet/", "ADDRESS_REFUSED"),
        ("http://10.0.0.1/", "ADDRESS_REFUSED"),
    ],
)
def test_what_is_no_proper_link_is_reported_so(url: str, code: str) -> None:
    with pytest.raises(FetchFailed) as failed:
        check_url(url)
    assert failed.value.code == code
    assert failed.value.message.endswith(".")


def test_loopback_passes_only_where_it_may_and_at_any_port() -> None:
    for url in ("http://127.0.0.1:22/", "http://[::1]:6379/", "http://127.9.9.9/", "http://localhost:9200/"):
        assert check_url(url, allow_loopback=True)
        with pytest.raises(FetchFailed):
            check_url(url)
    for url in (
        "http://10.0.0.1/",
        "http://[fe80::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://0.0.0.0/",
        "http://intra/",
    ):
        with pytest.raises(FetchFailed):
            check_url(url, allow_loopback=True)
    with pytest.raises(FetchFailed):
        check_url("http://93.184.216.34:22/", allow_loopback=True)


def test_a_link_is_shown_without_what_may_be_secret() -> None:
    assert (
        check_url("https://shop.example.com:8443/feed.xml?key=secret").shown == "https://shop.example.com:8443/feed.xml"
    )
    assert len(check_url("https://shop.example.com/" + "a" * 1000).shown) == 200


def test_web_ports_are_used_and_those_of_other_services_are_not() -> None:
    assert all(is_open_port(port) for port in (80, 443, 1024, 8000, 8080, 8443, 8888, 65535))
    assert not any(is_open_port(port) for port in (0, 21, 22, 25, 81, 1023, 2375, 3306, 5432, 6379, 9200, 10250, 11211))
