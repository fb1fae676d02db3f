"""URLs that name one picture: equal pairs, different pairs, and properties of every text."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from classifeed_common.snapshot import FileSource, SnapshotError
from classifeed_devkit.testing.campaigns import IS_LONG
from classifeed_pictures.domain.urls.canonical import CanonicalRules, canonical_url, shard_of, url_hash
from classifeed_pictures.domain.urls.rekeying import rekeyed
from classifeed_pictures.rules.loading import canonical_snapshot

DOCUMENT = {"strip_fragment": True, "strip_www": False, "tracking_parameters": ["utm_*", "yclid", "FBclid"]}
RULES = CanonicalRules.of(DOCUMENT)
WWW = CanonicalRules.of(DOCUMENT | {"strip_www": True})
FRAGMENTS = CanonicalRules.of(DOCUMENT | {"strip_fragment": False})
NONE = CanonicalRules.of({"strip_fragment": False, "strip_www": False, "tracking_parameters": []})

# The first column is the canonical form of the second.
SPELLINGS = [
    # scheme and host
    ("http://example.com/a.jpg", "HTTP://example.com/a.jpg"),
    ("https://example.com/a.jpg", "hTTpS://eXample.COM/a.jpg"),
    ("http://example.com/A.JPG", "http://EXAMPLE.com/A.JPG"),
    ("http://example.com/", "http:example.com"),
    ("http://example.com/", "http:/example.com/"),
    ("http://example.com/", "http:///example.com/"),
    ("http://example.com/a", "http:\\\\example.com\\a"),
    ("http://example.com/a", "http://example.com./a"),
    ("http://example.com/a", "http://example.com../a"),
    ("http://example.com/a", "http://ex%61mple.com/a"),
    ("http://example.com/a", "http://%65%78%61%6D%70%6C%65.com/a"),
    ("http://a_b.example.com/", "http://a_b.example.com"),
    ("http://r3---sn-x.example.com/", "http://r3---sn-x.example.com"),
    ("http://a..example.com/", "http://a..example.com"),
    # ports
    ("http://example.com/a", "http://example.com:80/a"),
    ("https://example.com/a", "https://example.com:443/a"),
    ("http://example.com/a", "http://example.com:/a"),
    ("http://example.com/a", "http://example.com:0080/a"),
    ("http://example.com:8080/a", "http://example.com:08080/a"),
    ("http://example.com:443/a", "http://example.com:443/a"),
    ("https://example.com:80/a", "https://example.com:80/a"),
    ("http://example.com:0/", "http://example.com:0"),
    ("http://example.com:65535/", "http://example.com:65535"),
    # addresses
    ("http://127.0.0.1/", "http://0x7f.1/"),
    ("http://127.0.0.1/", "http://2130706433"),
    ("http://127.0.0.1/", "http://0177.0.0.01/"),
    ("http://1.2.3.4/", "http://1.2.3.4./"),
    ("http://1.2.3.4/", "http://１.２。３．4/"),
    ("http://0.0.0.0/", "http://0x/"),
    ("http://[::1]/", "http://[0:0::0:1]:80/"),
    ("http://[2001:db8::a]/", "http://[2001:DB8:0:0:0:0:0:A]/"),
    ("http://[::ffff:102:304]/", "http://[::ffff:1.2.3.4]/"),
    ("http://[1:0:0:2::]/", "http://[1:0:0:2:0:0:0:0]/"),
    ("http://[1::2:0:0:3:4]/", "http://[1:0:0:2:0:0:3:4]/"),
    ("http://[1:0:2:3:4:5:6:7]/", "http://[1:0:2:3:4:5:6:7]/"),
    # IDN
    ("http://xn--e1afmkfd.xn--p1ai/", "http://пример.рф/"),
    ("http://xn--e1afmkfd.xn--p1ai/", "http://ПРИМЕР.РФ/"),
    ("http://xn--e1afmkfd.xn--p1ai/", "http://XN--E1AFMKFD.xn--p1ai"),
    ("http://xn--e1afmkfd.xn--p1ai/", "http://%D0%BF%D1%80%D0%B8%D0%BC%D0%B5%D1%80.рф"),
    ("http://xn--strae-oqa.de/", "http://straße.de/"),
    ("http://xn--mnchen-3ya.de/", "http://mu\u0308nchen.de/"),
    ("http://xn--n3h.net/", "http://☃.net/"),
    ("http://example.com/", "http://ｅｘａｍｐｌｅ．ｃｏｍ/"),
    ("http://example.com/", "http://exam\u00adple.com/"),
    ("http://example.com/", "http://example。com。/"),
    ("http://xn--wgv71a119e.jp/", "http://日本語。jp"),
    # paths
    ("http://example.com/", "http://example.com"),
    ("http://example.com/", "http://example.com?"),
    ("http://example.com/a", "http://example.com/./a"),
    ("http://example.com/a", "http://example.com/b/../a"),
    ("http://example.com/a", "http://example.com/../../a"),
    ("http://example.com/a", "http://example.com/b/%2e%2E/a"),
    ("http://example.com/a/", "http://example.com/a/."),
    ("http://example.com/a/", "http://example.com/a/b/.."),
    ("http://example.com/", "http://example.com/a/.."),
    ("http://example.com//b", "http://example.com//..//b"),
    ("http://example.com/a/b", "http://example.com\\a\\b"),
    ("http://example.com/a/b", "http://example.com/a\\.\\b"),
    ("http://example.com/.../a", "http://example.com/.../a"),
    ("http://example.com/a..b", "http://example.com/a..b"),
    ("http://example.com/.a", "http://example.com/%2Ea"),
    # percent encoding
    ("http://example.com/a~b-c_d.e", "http://example.com/%61%7Eb%2Dc%5Fd%2Ee"),
    ("http://example.com/%2F", "http://example.com/%2f"),
    ("http://example.com/%D0%BA", "http://example.com/к"),
    ("http://example.com/%D0%BA", "http://example.com/%d0%ba"),
    ("http://example.com/a%20b", "http://example.com/a b"),
    ("http://example.com/a%22%3C%3E%5E%60%7B%7C%7D", 'http://example.com/a"<>^`{|}'),
    ("http://example.com/a%5B1%5D", "http://example.com/a[1]"),
    ("http://example.com/50%25.jpg", "http://example.com/50%.jpg"),
    ("http://example.com/%2541", "http://example.com/%%34%31"),
    ("http://example.com/%25zz", "http://example.com/%zz"),
    ("http://example.com/%FF", "http://example.com/%ff"),
    ("http://example.com/a'b", "http://example.com/a'b"),
    ("http://example.com/?a%27b", "http://example.com/?a'b"),
    ("http://example.com/?a=%D0%BA&b=x", "http://example.com/?a=к&b=%78"),
    ("http://example.com/?a=b%2Bc+d%20e", "http://example.com/?a=b%2bc+d e"),
    ("http://example.com/?a=/b/../c?d", "http://example.com/?a=/b/../c?d"),
    ("http://example.com/?a\\b".replace("\\", "%5C"), "http://example.com/?a\\b"),
    # white space, controls, surrogates
    ("http://example.com/a", "  http://example.com/a \n"),
    ("http://example.com/a", "\x00\x1fhttp://example.com/a\x00"),
    ("http://example.com/ab", "ht\ntp://exa\tmple.com/a\r\nb"),
    ("http://example.com/a%00b%01%7F", "http://example.com/a\x00b\x01\x7f"),
    ("http://example.com/%C2%A0a%E3%80%80", "http://example.com/\u00a0a\u3000"),
    ("http://example.com/%EF%BF%BD", "http://example.com/\ud800"),
    ("http://example.com/%F0%9F%98%80", "http://example.com/\ud83d\ude00"),
    ("http://example.com/%F0%9F%98%80", "http://example.com/😀"),
    ("http://example.com/?%EF%BF%BD%EF%BF%BD", "http://example.com/?\udfff\ud800"),
    # tracking
    ("http://example.com/a", "http://example.com/a?utm_source=x"),
    ("http://example.com/a", "http://example.com/a?UTM_Source=x&fbclid=1"),
    ("http://example.com/a?b=1", "http://example.com/a?utm_a=1&b=1&yclid=2"),
    ("http://example.com/a?b=1&c=2", "http://example.com/a?b=1&%75tm%5Fsource=x&c=2"),
    ("http://example.com/a?b=utm_source", "http://example.com/a?b=utm_source"),
    ("http://example.com/a?xyclid=1", "http://example.com/a?xyclid=1"),
    ("http://example.com/a?b&&c", "http://example.com/a?b&&c"),
    ("http://example.com/a", "http://example.com/a?yclid"),
    # fragments
    ("http://example.com/a", "http://example.com/a#"),
    ("http://example.com/a", "http://example.com/a#b?c"),
    ("http://example.com/", "http://example.com#b/../c"),
    ("http://example.com/a?b", "http://example.com/a?b#c#d"),
    ("http://example.com/a%23", "http://example.com/a%23"),
    # users
    ("http://User:Pa%2fss@example.com/", "http://User:Pa%2fss@EXAMPLE.com"),
    ("http://example.com/", "http://@example.com/"),
    ("http://example.com/", "http://:@example.com/"),
    ("http://u@example.com/", "http://u:@example.com/"),
    ("http://u%40:p@example.com/", "http://u@:p@example.com/"),
    ("http://%D1%8E@example.com/", "http://ю@example.com/"),
]
# Not an absolute http(s) URL, or one that browsers reject.
KEYS = [
    "",
    " ",
    "a.jpg",
    "/a.jpg",
    "//example.com/A",
    "shops/17/ABCDEF",
    "ftp://EXAMPLE.com/a/../b",
    "data:image/png;base64,A",
    "http",
    "http:",
    "http://",
    "http:///",
    "https://?a",
    "http://#a",
    "http://.",
    "http://..",
    "http://@",
    "http://u:p@/",
    "http://exa mple.com/",
    "http://a<b/",
    "http://a|b/",
    "http://a%00b/",
    "http://a%zz/",
    "http://a%2Fb/",
    "http://[::1",
    "http://[::1]a/",
    "http://[::g]/",
    "http://[fe80::1%25eth0]/",
    "http://example.com:x/",
    "http://example.com:65536/",
    "http://example.com:-1/",
    "http://a:b:1/",
    "http://1.2.3.256/",
    "http://09/",
    "http://1..2/",
    "http://0x1ffffffff/",
    "http://1.2.3.4.5/",
    "http://\u00ad/",
    "http://\ufffd/",
    f"http://{'a' * 254}/",
    f"http://{'ü' * 300}.de/",
    "http\u017f://example.com/",
    "httpſ://a/",
    "\u00a0http://example.com/",
    "http ://example.com/",
    "javascript:http://example.com/",
    "A\x00B",
    "http://example.com:" + "9" * 5000,
]
DIFFERENT = [
    ("http://example.com/a", "https://example.com/a"),
    ("http://example.com/a", "http://example.com/A"),
    ("http://example.com/a", "http://example.com/a/"),
    ("http://example.com/a", "http://www.example.com/a"),
    ("http://example.com/a", "http://example.org/a"),
    ("http://example.com/a", "http://example.com:8080/a"),
    ("http://example.com/a", "http://example.com/a?b"),
    ("http://example.com/a?b=1&c=2", "http://example.com/a?c=2&b=1"),
    ("http://example.com/a?b=1", "http://example.com/a?B=1"),
    ("http://example.com/a%2Fb", "http://example.com/a/b"),
    ("http://example.com/a+b", "http://example.com/a%20b"),
    ("http://example.com/a%2Bb", "http://example.com/a+b"),
    ("http://example.com/a//b", "http://example.com/a/b"),
    ("http://u@example.com/", "http://example.com/"),
    ("http://u:p@example.com/", "http://u:P@example.com/"),
    ("http://example.com/é", "http://example.com/e\u0301"),
    ("http://strasse.de/", "http://straße.de/"),
    ("http://example.com/?a=%26b", "http://example.com/?a=&b"),
    ("http://example.com/%2541", "http://example.com/A"),
    ("shops/1/a", "shops/1/A"),
    ("shops/1/a", "shops/1/./a"),
]


@pytest.mark.parametrize(("canonical", "spelling"), SPELLINGS)
def test_spellings_of_one_url_are_one(canonical: str, spelling: str) -> None:
    assert canonical_url(spelling, RULES) == canonical
    assert canonical_url(canonical, RULES) == canonical


@pytest.mark.parametrize("key", KEYS)
def test_keys_pass_unchanged(key: str) -> None:
    assert canonical_url(key, RULES) == key


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_urls_stay_apart(one: str, other: str) -> None:
    assert canonical_url(one, RULES) != canonical_url(other, RULES)


def test_there_are_a_hundred_pairs() -> None:
    assert len(SPELLINGS) + len(DIFFERENT) >= 100
    assert len(set(SPELLINGS)) == len(SPELLINGS)


@pytest.mark.parametrize(
    ("rules", "url", "canonical"),
    [
        (WWW, "http://www.example.com/", "http://example.com/"),
        (WWW, "http://WWW.www.example.com/", "http://example.com/"),
        (WWW, "http://www.com/", "http://www.com/"),
        (WWW, "http://wwww.example.com/", "http://wwww.example.com/"),
        (FRAGMENTS, "http://example.com/a#%7eк b", "http://example.com/a#~%D0%BA%20b"),
        (FRAGMENTS, "http://example.com/a#", "http://example.com/a"),
        (NONE, "http://example.com/a?utm_source=x#b", "http://example.com/a?utm_source=x#b"),
    ],
)
def test_rules_say_the_rest(rules: CanonicalRules, url: str, canonical: str) -> None:
    assert canonical_url(url, rules) == canonical


PIECES = st.sampled_from(
    [
        *"/\\?#@:%.&=[]|^ \t\n\0'",
        "http:",
        "HTTPS://",
        "//",
        "..",
        "%2e",
        "%2E.",
        "%41",
        "%c3",
        "%25",
        "www.",
        "xn--",
        "utm_a=1",
        "yclid",
        "example.com",
        "1.2",
        "0x7f",
        ":80",
        ":443",
        "рф",
        "ß",
        "\u00ad",
        "。",
        "\ud800",
        "\udc00",
        "😀",
    ]
)
URLS = st.lists(PIECES | st.text(st.characters(), max_size=3), max_size=12).map("".join)
TEXTS = st.one_of(st.text(st.characters()), URLS, URLS.map("http://example.com/".__add__), URLS.map("http://".__add__))
SOME_RULES = st.sampled_from([RULES, WWW, FRAGMENTS, NONE])


@settings(max_examples=3000 if IS_LONG else 500)
@given(TEXTS, SOME_RULES)
@example("http://a/%%34%31", RULES)
@example("http://a../", RULES)
@example("http://www.www.a.b", WWW)
def test_every_text_has_one_canonical_form(text: str, rules: CanonicalRules) -> None:
    canonical = canonical_url(text, rules)
    assert canonical_url(canonical, rules) == canonical
    assert len(url_hash(canonical)) == 16
    if canonical != text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"):
        assert re.match("https?://[^/]", canonical)
        assert canonical.isascii()
        assert canonical.isprintable()
        assert " " not in canonical


@given(st.text(st.characters(categories=["L", "M", "N", "P", "S"]), min_size=1, max_size=20), SOME_RULES)
def test_every_host_has_one_canonical_form(host: str, rules: CanonicalRules) -> None:
    canonical = canonical_url(f"https://{host}.com/", rules)
    assert canonical_url(canonical, rules) == canonical


def test_hash_and_shard_are_those_of_the_text() -> None:
    digest = hashlib.blake2b("http://example.com/к".encode(), digest_size=16).digest()
    assert url_hash("http://example.com/к") == digest
    assert shard_of(digest, 64) == int.from_bytes(digest[:8], "big") % 64
    assert shard_of(b"\0" * 7 + b"\x41" + b"\xff" * 8, 64) == 1
    shards = [shard_of(url_hash(f"http://example.com/{n}"), 64) for n in range(6400)]
    assert all(50 < shards.count(shard) < 160 for shard in range(64))


def test_version_is_that_of_what_the_rules_say() -> None:
    same = DOCUMENT | {"name": "other", "tracking_parameters": ["fbclid", "YCLID", "utm_*", "utm_*"]}
    assert CanonicalRules.of(same) == RULES
    assert len({rules.version for rules in (RULES, WWW, FRAGMENTS, NONE)}) == 4


def test_key_under_other_rules() -> None:
    assert rekeyed("http://www.example.com/a?yclid=1", RULES) == "http://www.example.com/a"
    assert rekeyed("http://www.example.com/a", WWW) == "http://example.com/a"
    assert rekeyed("http://example.com/a", WWW) is None
    assert rekeyed("http://example.com/a", replace(RULES, version="other")) is None
    assert rekeyed("shops/1/a", NONE) is None


async def test_rules_that_come_with_the_service_are_right() -> None:
    snapshot = canonical_snapshot()
    await snapshot.open()
    rules = snapshot.current.value
    assert canonical_url("https://EXAMPLE.com/a?id=1&utm_source=b&ysclid=c#d", rules) == "https://example.com/a?id=1"
    assert canonical_url("https://www.example.com/a", rules) == "https://www.example.com/a"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("strip_fragment: yes\nstrip_www: false\ntracking_parameters: []\n", "strip_fragment"),
        ("strip_fragment: true\nstrip_www: false\ntracking_parameters: ['*']\n", "tracking_parameters"),
        ("strip_fragment: true\nstrip_www: false\ntracking_parameters: []\nwww: true\n", "www"),
        ("strip_fragment: true\n", "required"),
    ],
)
async def test_wrong_rules_are_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "canonical.yaml"
    file.write_text(text)
    with pytest.raises(SnapshotError, match=words):
        await canonical_snapshot(FileSource(file)).open()
