"""Canonical URLs: one spelling for all URLs that name the same picture, which is its key.

Parsing follows browsers (WHATWG URL). Among spellings that browsers keep apart and that RFC 3986 treats as equal, one
is chosen. The rest is defined by rules (ADR 0062).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from classifeed_pictures.domain.urls.hosts import canonical_host
from classifeed_pictures.domain.urls.percent import encode_user, normalize_fragment, normalize_path, normalize_query

HASH_BYTES: Final = 16
URL_LIMIT_CHARS: Final = 4096
_SHARD_BYTES: Final = 8
_VERSION_BYTES: Final = 6
_EDGES: Final = "".join(map(chr, range(0x21)))
_TABS_AND_LINES: Final = str.maketrans("", "", "\t\n\r")
# Any number of slashes of both kinds, as in browsers; no re.IGNORECASE, which matches other letters as s.
_HTTP: Final = re.compile(r"([hH][tT][tT][pP][sS]?):[/\\]*")
_AUTHORITY: Final = re.compile(r"[^/\\?#]*")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_PORT_DIGITS: Final = 5


@dataclass(frozen=True, slots=True)
class CanonicalRules:
    """Rules by which two URLs name one picture, in addition to their spelling.

    Attributes:
        version: hash of the rules; comments and the order of a file do not change it.
        strips_fragment: whether `#` and the text after it are removed.
        strips_www: whether `www.` at the beginning of a host is removed.
        tracking_names: query parameters for tracking, in lower case.
        tracking_prefixes: prefixes of the names of further ones.
    """

    version: str
    strips_fragment: bool = True
    strips_www: bool = False
    tracking_names: frozenset[str] = frozenset()
    tracking_prefixes: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return the rules of a document that is valid by its schema."""
        parameters = sorted({name.lower() for name in document["tracking_parameters"]})
        names = [name for name in parameters if not name.endswith("*")]
        prefixes = [name.removesuffix("*") for name in parameters if name.endswith("*")]
        strips_fragment, strips_www = document["strip_fragment"], document["strip_www"]
        said = repr((strips_fragment, strips_www, parameters)).encode()
        version = hashlib.blake2b(said, digest_size=_VERSION_BYTES).hexdigest()
        return cls(version, strips_fragment, strips_www, frozenset(names), tuple(prefixes))

    @property
    def document(self) -> dict[str, Any]:
        """Return a document from which `of` makes the same rules."""
        return {
            "strip_fragment": self.strips_fragment,
            "strip_www": self.strips_www,
            "tracking_parameters": sorted([*self.tracking_names, *(f"{prefix}*" for prefix in self.tracking_prefixes)]),
        }

    def is_tracking(self, parameter: str) -> bool:
        """Return whether a query parameter, `name=value`, is for tracking only."""
        name = parameter.partition("=")[0].lower()
        return name in self.tracking_names or (bool(self.tracking_prefixes) and name.startswith(self.tracking_prefixes))


def canonical_url(text: str, rules: CanonicalRules) -> str:
    """Return the canonical form of a URL; a text that is no absolute http(s) URL is a key and returned unchanged.

    Never raises. Idempotent. The result can be encoded as UTF-8: even in keys, a lone surrogate becomes U+FFFD.
    """
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    url = text.strip(_EDGES).translate(_TABS_AND_LINES)
    http = _HTTP.match(url)
    if http is None:
        return text
    scheme = http[1].lower()
    authority = _AUTHORITY.match(url, http.end())
    assert authority is not None, "it matches at least the empty text"
    place = _place(authority[0], scheme, rules)
    if place is None:
        return text
    rest, hash_sign, fragment = url[authority.end() :].partition("#")
    path, _, query = rest.partition("?")
    query = _query(query, rules)
    if rules.strips_fragment:
        hash_sign = ""
    return (
        f"{scheme}://{place}{_path(path)}"
        + (f"?{query}" if query else "")
        + (f"#{normalize_fragment(fragment)}" if hash_sign and fragment else "")
    )


def url_hash(canonical: str) -> bytes:
    """Return the 16 bytes by which everything about a canonical URL is stored and ordered."""
    return hashlib.blake2b(canonical.encode(), digest_size=HASH_BYTES).digest()


def shard_of(url_hash: bytes, partitions: int) -> int:
    """Return the partition of a URL, the same for all producers of events."""
    return int.from_bytes(url_hash[:_SHARD_BYTES], "big") % partitions


def _place(authority: str, scheme: str, rules: CanonicalRules) -> str | None:
    """Return user, host and port; None if a browser rejects them."""
    user, _, place = authority.rpartition("@")
    if place.startswith("["):
        literal, bracket, rest = place.partition("]")
        text, colon, digits = literal + bracket, rest[:1], rest[1:]
        if colon not in ("", ":"):
            return None
    else:
        text, _, digits = place.partition(":")
    host, port = canonical_host(text), _port(digits, scheme)
    if host is None or port is None:
        return None
    if rules.strips_www:
        while host.startswith("www.") and "." in host[4:]:
            host = host[4:]
    return f"{_user(user)}{host}{port}"


def _user(text: str) -> str:
    """Return user and password as browsers encode them, with the @."""
    name, _, password = text.partition(":")
    if not name and not password:
        return ""
    return f"{encode_user(name)}{':' if password else ''}{encode_user(password)}@"


def _port(digits: str, scheme: str) -> str | None:
    if not digits:
        return ""
    number = digits.lstrip("0") or "0"
    if not (digits.isascii() and digits.isdigit()) or len(number) > _PORT_DIGITS or int(number) > 65535:
        return None
    return "" if int(number) == _DEFAULT_PORTS[scheme] else f":{number}"


def _path(text: str) -> str:
    path = normalize_path(text.replace("\\", "/")) or "/"
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return f"/{'/'.join(kept)}"


def _query(text: str, rules: CanonicalRules) -> str:
    query = normalize_query(text)
    parameters = query.split("&")
    kept = [parameter for parameter in parameters if not rules.is_tracking(parameter)]
    return query if len(kept) == len(parameters) else "&".join(kept)
