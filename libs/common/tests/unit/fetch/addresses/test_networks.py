from __future__ import annotations

from ipaddress import ip_address

import pytest

from classifeed_common.fetch.addresses.networks import is_loopback, is_public, parse_address

PUBLIC = """
    1.1.1.1 8.8.8.8 93.184.216.34 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
    168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.255 192.0.3.0
    192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 203.0.112.255 203.0.114.0 223.255.255.255
    2606:4700::1111 2a00:1450:4001:81b::200e 2001:200::1 2001:4860:4860::8888 2003::1 2400:cb00::1
    ::ffff:8.8.8.8 64:ff9b::808:808 2606:4700::5efe:808:808
"""
NOT_PUBLIC = """
    0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.255
    168.63.129.16 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.31.196.1
    192.52.193.1 192.88.99.1 192.168.0.1 192.168.255.255 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1
    203.0.113.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
    :: ::1 ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1
    64:ff9b::a9fe:a9fe 64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b:1::808:808 64:ff9b:1::a00:1 64:ff9b:0:1::808:808
    100::1 2001::1 2001:0:7f00:1::1 2001:2::1 2001:10::1 2001:20::1 2001:1ff:ffff::1 2001:db8::1 2002::1 2002:7f00:1::
    2002:a00:1::1 2002:808:808::1 2620:4f:8000::1 3ffe::1 3fff::1 4000::1 5f00::1 8000::1
    2606:4700::5efe:a00:1 2606:4700::5efe:7f00:1 2606:4700::200:5efe:a9fe:a9fe
    2606:4700::1111%lo fc00::1 fd00:ec2::254 fdff::1 fe80::1 fe80::1%lo fe80::5efe:808:808 fec0::1 ff02::1 ff05::1:3
"""


@pytest.mark.parametrize("text", PUBLIC.split())
def test_an_outer_address_is_public(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize("text", NOT_PUBLIC.split())
def test_any_other_address_is_not(text: str) -> None:
    assert not is_public(ip_address(text))


def test_loopback_is_what_is_written_as_such() -> None:
    assert {text for text in NOT_PUBLIC.split() if is_loopback(ip_address(text))} == {
        "127.0.0.1", "127.255.255.255", "::1",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["fe80::1%eth0", "1.1.1.1%0", "127.1", "0177.0.0.1", "2130706433", "", "host", "::1 "])
def test_other_spellings_are_no_address(text: str) -> None:
    assert parse_address(text) is None
