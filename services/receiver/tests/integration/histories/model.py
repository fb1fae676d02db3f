"""Model of the registry's rules in plain Python, one document at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE, DOCUMENT_ACTION_UPSERT, RawDocument
from classifeed_domain.document_shards import hash_of, shard_of

LIMIT_BYTES = 1024
PAST = datetime(2020, 1, 1, tzinfo=UTC)
FIELDS, BODY, LOOSE_BODY = "fields", "body", "loose body"
FORMS = (FIELDS, BODY, LOOSE_BODY)
UNKNOWN, WRONG_TYPE, TOO_LARGE = "unknown field", "wrong type", "too large"
FAULTS = (UNKNOWN, WRONG_TYPE, TOO_LARGE)

Violation = tuple[str, str]
"""Field and text of a fault."""


class Freshness(NamedTuple):
    epoch: int
    version: int
    at: datetime


@dataclass(frozen=True)
class Document:
    """A document before it is written in one of the forms.

    Attributes:
        title: title of an upsert; empty: it is a delete.
        form: form in which its fields are written.
        fault: one of FAULTS; empty: the document is valid.
        ttl_s: lifetime in seconds; None: unlimited.
    """

    pk: str
    freshness: Freshness
    title: str
    price: float = 1.5
    form: str = FIELDS
    fault: str = ""
    ttl_s: int | None = None

    @property
    def message(self) -> RawDocument:
        """The document as it is pushed."""
        freshness = self.freshness
        made = RawDocument(pk=self.pk, version=freshness.version, epoch=freshness.epoch, action=DOCUMENT_ACTION_DELETE)
        made.timestamp.FromDatetime(freshness.at)
        if not self.title:
            return made
        made.action = DOCUMENT_ACTION_UPSERT
        if self.ttl_s is not None:
            made.ttl.FromTimedelta(timedelta(seconds=self.ttl_s))
        title = self.title * LIMIT_BYTES if self.fault == TOO_LARGE else self.title
        if self.form == FIELDS:
            made.fields.add(name="title").values.add(string_value=title)
            price = made.fields.add(name="price").values.add()
            if self.fault == WRONG_TYPE:
                price.string_value = "5"
            else:
                price.double_value = self.price
            if self.fault == UNKNOWN:
                made.fields.add(name="colour").values.add(string_value="red")
            return made
        members = [f'"title":"{title}"', f'"price":{self.price}' if self.fault != WRONG_TYPE else '"price":"5"']
        if self.fault == UNKNOWN:
            members.append('"colour":"red"')
        made.body = "{" + ",".join(members) + "}"
        if self.form == LOOSE_BODY:
            made.body = "{ " + " ,\n".join(reversed(members)) + " }"
        return made

    @property
    def content(self) -> bytes:
        """The stored bytes."""
        kept = replace(self, form=BODY) if self.form == LOOSE_BODY else self
        return kept.message.SerializeToString(deterministic=True)

    @property
    def violations(self) -> list[Violation]:
        """Violations of the schema; the texts are the same in all forms, as far as possible."""
        is_body = self.form != FIELDS
        match self.fault:
            case "unknown field":
                text = f"'colour' is not a field of epoch {self.freshness.epoch}"
                return [("body.colour" if is_body else "fields[2].name", text)]
            case "wrong type" if is_body:
                return [("body.price", 'price is DOUBLE and takes a number, not "5"')]
            case "wrong type":
                return [("fields[1].values[0]", "price is DOUBLE and takes double_value, not string_value")]
            case "too large":
                size = len(self.content)
                return [("document", f"has {size} bytes, at most {LIMIT_BYTES} are allowed; shorten its texts")]
        return []


@dataclass(frozen=True)
class Row:
    freshness: Freshness
    is_live: bool
    expires_at: datetime | None
    content: bytes

    @classmethod
    def of(cls, document: Document) -> Row:
        expires_at = None
        if document.title and document.ttl_s is not None:
            expires_at = document.freshness.at + timedelta(seconds=document.ttl_s)
        return cls(document.freshness, bool(document.title), expires_at, document.content)


class Outcome(NamedTuple):
    """Outcome of a document: ACK, STALE, INVALID, CONFLICT, EPOCH_TOO_OLD or RETRY, with its message."""

    name: str
    version: int = 0
    epoch: int = 0
    violations: tuple[Violation, ...] = ()


class Element(NamedTuple):
    idx: int
    pk: str
    freshness: Freshness


@dataclass
class Shard:
    """A queue of a client.

    Attributes:
        elements: elements that are not trimmed.
        last_idx: index of the last element.
        trimmed_idx: index of the last trimmed element.
    """

    elements: list[Element] = field(default_factory=list)
    last_idx: int = 0
    trimmed_idx: int = 0


@dataclass
class ClientModel:
    """Registry and queue of one client."""

    active: int = 1
    rows: dict[str, Row] = field(default_factory=dict)
    shards: dict[int, Shard] = field(default_factory=dict)

    def refusal(self, document: Document) -> Outcome | None:
        """Return the outcome of a document that is rejected before the registry."""
        epoch = document.freshness.epoch
        if epoch < self.active:
            return Outcome("EPOCH_TOO_OLD", epoch=self.active)
        if epoch > self.active:
            text = f"{epoch} is not the active epoch; compose the document for {self.active}"
            return Outcome("INVALID", violations=(("epoch", text),))
        if document.violations:
            return Outcome("INVALID", violations=tuple(document.violations))
        return None

    def push(self, documents: Sequence[Document]) -> tuple[list[Outcome], list[Document]]:
        """Push a batch; return the outcome of each document, and the written documents."""
        refusals = [self.refusal(document) for document in documents]
        freshest: dict[str, Document] = {}
        for document, refusal in zip(documents, refusals, strict=True):
            known = freshest.get(document.pk)
            if refusal is None and (known is None or known.freshness < document.freshness):
                freshest[document.pk] = document
        written = [each for each in freshest.values() if self._is_news(each)]
        self.rows.update({each.pk: Row.of(each) for each in written})
        return [refusal or self.judge(document) for document, refusal in zip(documents, refusals, strict=True)], written

    def _is_news(self, document: Document) -> bool:
        row = self.rows.get(document.pk)
        return row is None or row.freshness < document.freshness

    def judge(self, document: Document) -> Outcome:
        """Return the outcome of a document by the stored one, which is at least as fresh."""
        row = self.rows[document.pk]
        if document.freshness < row.freshness:
            return Outcome("STALE", row.freshness.version, row.freshness.epoch)
        return Outcome("ACK" if document.content == row.content else "CONFLICT")

    def expire(self, now: datetime) -> list[tuple[str, Freshness]]:
        """Turn expired documents into tombstones; return their elements."""
        due = [pk for pk, row in self.rows.items() if row.is_live and row.expires_at and row.expires_at <= now]
        for pk in due:
            self.rows[pk] = replace(self.rows[pk], is_live=False)
        return [(pk, self.rows[pk].freshness) for pk in due]

    def forget_tombstones(self) -> None:
        self.rows = {pk: row for pk, row in self.rows.items() if row.is_live}

    def trim(self, cursors: dict[int, int]) -> None:
        """Remove the elements before the cursors, given by shard; the element at a cursor stays."""
        for number, shard in self.shards.items():
            gone = [each.idx for each in shard.elements if each.idx < cursors.get(number, 0)]
            if gone:
                shard.trimmed_idx = max(gone)
                shard.elements = [each for each in shard.elements if each.idx > shard.trimmed_idx]

    def has(self, number: int, idx: int) -> bool:
        """Return whether a position is an element of the queue, or was trimmed."""
        shard = self.shards.get(number, Shard())
        return idx <= shard.trimmed_idx or idx == shard.last_idx or idx in {each.idx for each in shard.elements}

    def append(self, found: Iterable[tuple[int, Element]], highest: dict[int, int]) -> None:
        """Append new elements of the table, which must be above all earlier elements."""
        for number, element in sorted(found):
            assert number == shard_number(element.pk)
            assert element.idx > highest.get(number, 0), f"shard {number}: {element} is not behind {highest[number]}"
            highest[number] = element.idx
            shard = self.shards.setdefault(number, Shard())
            shard.elements.append(element)
            shard.last_idx = element.idx


def shard_number(pk: str) -> int:
    return shard_of(hash_of(pk))


def check_race(
    before: ClientModel, after: Row, pk: str, written: Sequence[Freshness], pushed: Sequence[tuple[Document, Outcome]]
) -> None:
    """Check the outcomes of documents of one key that were pushed concurrently, in any order of arrival.

    Args:
        before: row that was stored before.
        after: row that is stored now.
        pk: key of the documents.
        written: freshness of the key's new elements, in the order of the queue.
        pushed: valid documents with their outcomes.
    """
    row = before.rows.get(pk)
    states = [*([row.freshness] if row is not None else []), *written]
    assert states == sorted(set(states)), f"{pk}: an older document was written over a fresher one: {states}"
    assert states[-1] == after.freshness == max(states[-1], *(document.freshness for document, _ in pushed))
    contents = {document.freshness: document.content for document, outcome in pushed if outcome.name == "ACK"}
    contents |= {after.freshness: after.content} | ({row.freshness: row.content} if row is not None else {})
    for document, outcome in pushed:
        freshness = document.freshness
        fresher = {(state.version, state.epoch) for state in states if state > freshness}
        allowed = {Outcome("STALE", version, epoch) for version, epoch in fresher}
        if freshness in states:
            allowed.add(Outcome("ACK" if document.content == contents[freshness] else "CONFLICT"))
        assert outcome in allowed, f"{pk}: {document} became {outcome}; {states}"
