"""Contact details: phone numbers, e-mail addresses, names in messengers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from classifeed_cleanweb.automatics.addresses.links import Links, left_of, mails, messenger_name, nicks
from classifeed_cleanweb.automatics.addresses.phones import Phones, may_dial
from classifeed_cleanweb.automatics.terms import Hit, Role

_BRACKETS: Final = "([{<"


class Contacts:
    """Finds contacts by the lists of a rules file."""

    def __init__(
        self,
        verdict: str,
        content: Mapping[str, Any],
        links: Sequence[Links],
        is_for: Callable[[Sequence[int], str], bool],
    ) -> None:
        self.is_for = is_for
        self._verdict = verdict
        self._links = links
        self._fillers = frozenset(word.casefold() for word in content["fillers"])
        self._phones = Phones(content["call"], content["numbered"], content["units"], content["digits"])

    def find(self, text: str, shapes: bytes, hits: Mapping[int, Sequence[Hit]]) -> Iterator[tuple[str, str, int, int]]:
        """Yield contacts as verdict, rule, start and end.

        Args:
            text: the text.
            shapes: shapes of its code points.
            hits: words of its lists in the text.
        """
        if may_dial(shapes):
            yield from self._named("phone", self._phones.written(text, shapes))
        if len(hits.get(Role.DIGITS, ())) > 1:
            yield from self._named("phone", self._phones.spelled(text, _spans(hits[Role.DIGITS])))
        if "@" in text:
            yield from self._named("mail", mails(text))
            yield from self._named("nick", nicks(text))
        for hit in hits.get(Role.MESSENGERS, ()):
            name = messenger_name(text, hit.end, self._fillers)
            if name is not None:
                yield self._verdict, "contacts.messenger", hit.start, name[1]
        for hit in hits.get(Role.AT, ()):
            yield from self._named("mail", self._spelled_mails(text, hit))

    def _spelled_mails(self, text: str, hit: Hit) -> Iterator[tuple[int, int]]:
        """Yield the e-mail address around a word for @."""
        name_end = hit.start
        is_bracketed = hit.start > 0 and text[hit.start - 1] in _BRACKETS
        while name_end > 0 and hit.start - name_end < 3 and not text[name_end - 1].isalnum():
            name_end -= 1
        start = left_of(text, name_end, ".-_+")
        for links in self._links:
            host = links.spelled_host(text, hit.end, is_bracketed=is_bracketed)
            if host is not None and start < name_end:
                yield start, host

    def _named(self, what: str, spans: Iterator[tuple[int, int]]) -> Iterator[tuple[str, str, int, int]]:
        yield from ((self._verdict, f"contacts.{what}", *span) for span in spans)


def _spans(hits: Sequence[Hit]) -> list[tuple[int, int]]:
    return sorted({(hit.start, hit.end) for hit in hits})
