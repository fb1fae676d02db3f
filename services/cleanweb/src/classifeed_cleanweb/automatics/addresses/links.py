"""Internet addresses: links, hosts, e-mail addresses, names in messengers; also spelled-out ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

Span = tuple[int, int]

_SCHEME: Final = re.compile(r"(?<!\w)(?:h(?:tt|xx)ps?|ftp)\s{0,2}$", re.IGNORECASE)
_SLASHES: Final = re.compile(r":\s{0,2}/\s{0,2}/\s{0,2}[^\s,;]{1,200}")
_WWW: Final = re.compile(r"(?<!\w)www\s{0,2}\.\s{0,2}[\w\-]{1,63}(?:\s{0,2}\.\s{0,2}[\w\-]{2,63}){1,3}", re.IGNORECASE)
_PATH: Final = r"(?:[/?#:][^\s,;]{0,200})?"
_MAIL: Final = re.compile(r"[\w\-]{1,63}(?:\.[\w\-]{2,63}){1,4}")
_NICK: Final = re.compile(r"[A-Za-z][\w.]{2,31}")
_NAMED: Final = re.compile(r"[\s:\-–—=(\"']{0,4}(@?[A-Za-z][\w.#:]{3,32})")
_SIGNS: Final = re.compile(r"[\d_.#@:]")
_FILLER: Final = re.compile(r"[\s:\-–—]{1,3}(\w{1,12})(?=[\s:])")
_LETTER_AFTER: Final = re.compile(r"\.(?=[^\W\d_])")
_LONGEST_SCHEME: Final = 9
_MAX_NAME: Final = 64
_GAP: Final = r"[\s()\[\]{}<>]{0,3}"
_SPACE: Final = r"[\s()\[\]{}<>]{1,3}"
_WORD: Final = re.compile(rf"{_GAP}([\w\-]{{2,40}})")


class Links:
    """Finds links.

    The initialiser takes lists of the rules, as their schema describes them.
    """

    def __init__(self, rules: Mapping[str, Sequence[str]]) -> None:
        zones = any_of(rules["zones"])
        short = any_of(rules["short_zones"])
        dots, spelled = any_of(rules["dots"]), any_of([*rules["spelled_zones"], *rules["zones"]])
        self._zone = re.compile(rf"\.(?:(?:{zones})(?![\w\-]|\.\w){_PATH}|(?:{short})/[^\s,;]{{1,200}})", re.IGNORECASE)
        self._apart = re.compile(rf"[\s(\[]\.[\s)\]]{{0,2}}(?:{zones})(?!\w){_PATH}", re.IGNORECASE)
        self._named_zone = re.compile(rf"{_SPACE}(?:{dots})(?!\w){_GAP}(?:{spelled})(?!\w){_PATH}", re.IGNORECASE)
        self._spelled = re.compile(
            rf"(?:{_GAP}[.]|{_SPACE}(?:{dots})(?!\w)){_GAP}(?:{spelled})(?!\w){_PATH}", re.IGNORECASE
        )
        # The first characters of a dot are searched, which is quick; then its surroundings are compared.
        self._dots = (
            (".", _LETTER_AFTER, self._zone),
            *((before, re.compile(re.escape(before)), self._apart) for before in (" .", "(.", "[.")),
        )
        self._stop_words = frozenset(word.casefold() for word in rules["stop_words"])
        self._allow = frozenset(word.casefold() for word in rules["allow"])

    def written(self, text: str) -> Iterator[Span]:
        """Yield links and hosts, but no e-mail addresses."""
        if "/" in text:
            for slashes in _SLASHES.finditer(text):
                scheme = _SCHEME.search(text[max(0, slashes.start() - _LONGEST_SCHEME) : slashes.start()])
                if scheme is not None:
                    yield slashes.start() - len(scheme[0]), slashes.end()
        if "www" in text or "WWW" in text or "Www" in text:
            yield from (found.span() for found in _WWW.finditer(text))
        if "." in text:
            for before, dots, pattern in self._dots:
                if before not in text:
                    continue
                for dot in dots.finditer(text):
                    found = pattern.match(text, dot.start())
                    start = left_of(text, dot.start(), ".-_")
                    if found is not None and self._is_host(text, start, dot.start(), found.end()):
                        yield start, found.end()

    def spelled(self, text: str, dots: Sequence[int]) -> Iterator[Span]:
        """Yield hosts whose dot and zone are spelled in words.

        Args:
            text: the text.
            dots: starts of words for a dot.
        """
        for dot in dots:
            name_end = dot
            while name_end > 0 and dot - name_end < 3 and not text[name_end - 1].isalnum():
                name_end -= 1
            tail = self._named_zone.match(text, name_end)
            start = left_of(text, name_end, ".-_")
            if tail is not None and self._is_host(text, start, name_end, tail.end()):
                yield start, tail.end()

    def spelled_host(self, text: str, place: int, *, is_bracketed: bool) -> int | None:
        """Return the end of a host that begins at a place, or a few brackets after it; None: there is none.

        Args:
            text: the text.
            place: offset of the place.
            is_bracketed: whether its dot may be a written dot; otherwise it is a word.
        """
        name = _WORD.match(text, place)
        if name is None or name[1].casefold() in self._stop_words:
            return None
        tail = (self._spelled if is_bracketed else self._named_zone).match(text, name.end())
        return None if tail is None else tail.end()

    def _is_host(self, text: str, start: int, dot: int, end: int) -> bool:
        name = text[start:dot]
        if not any(sign.isalpha() for sign in name) or name.casefold() in self._stop_words:
            return False
        if start > 0 and text[start - 1] == "@":
            return False
        return re.split(r"[/?#:]", text[start:end], maxsplit=1)[0].casefold() not in self._allow


def mails(text: str) -> Iterator[Span]:
    """Yield addresses with a written @."""
    for place in _places(text, "@"):
        start, tail = left_of(text, place, ".+-_"), _MAIL.match(text, place + 1)
        if start < place and tail is not None:
            yield start, tail.end()


def nicks(text: str) -> Iterator[Span]:
    """Yield names that begin with @."""
    for place in _places(text, "@"):
        found = _NICK.match(text, place + 1)
        if found is not None and (place == 0 or not (text[place - 1].isalnum() or text[place - 1] in "._@*")):
            yield place, found.end() - (found[0][-1] == ".")


def messenger_name(text: str, place: int, fillers: frozenset[str]) -> Span | None:
    """Return the name that follows the name of a messenger; None: there is none.

    Args:
        text: the text.
        place: end of the messenger's name.
        fillers: words that may stand between them.
    """
    for _ in range(3):
        filler = _FILLER.match(text, place)
        if filler is None or filler[1].casefold() not in fillers:
            break
        place = filler.end()
    found = _NAMED.match(text, place)
    if found is None or place == found.start(1):
        return None
    name = found[1].rstrip(".:")
    has_sign = _SIGNS.search(name) is not None
    return (found.start(1), found.start(1) + len(name)) if has_sign and len(name) > 3 else None


def _places(text: str, sign: str) -> Iterator[int]:
    place = text.find(sign)
    while place >= 0:
        yield place
        place = text.find(sign, place + 1)


def left_of(text: str, end: int, signs: str) -> int:
    """Return the start of a name that ends at `end`."""
    start = end
    while start > 0 and end - start < _MAX_NAME and (text[start - 1].isalnum() or text[start - 1] in signs):
        start -= 1
    while start < end and text[start] in signs:
        start += 1
    return start


def any_of(words: Sequence[str]) -> str:
    """Return a pattern of any of the words, the longest first; without words, a pattern that never matches."""
    return "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word)))) or r"(?!)"
