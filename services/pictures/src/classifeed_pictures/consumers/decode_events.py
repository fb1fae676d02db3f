"""Decodes Kafka records into events of pictures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from google.protobuf.message import DecodeError

from classifeed.pictures.v1.events_pb2 import DELETE_REASON_GIVEN_UP, DELETE_REASON_REQUESTED, PictureEvent
from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_common.kafka import Poison, Record, type_of
from classifeed_pictures.domain.lifecycle.events import (
    Adopt,
    Deletion,
    Event,
    GivenUp,
    Loaded,
    Look,
    Move,
    Request,
    Unused,
)
from classifeed_pictures.domain.urls.canonical import url_hash

_TYPE: Final = PictureEvent.DESCRIPTOR.full_name
_LONGEST_S: Final = 1 << 31  # a longer promise means the same, and would overflow a timedelta


def decode_event(record: Record) -> tuple[str, bytes, Event]:
    """Return the URL, its hash and the event of a record.

    Raises:
        Poison: the record is no event, or breaks the protocol; the text tells where.
    """
    if type_of(record) != _TYPE:
        raise Poison(record, f"is no event of a picture, but {type_of(record) or 'of no type'}")
    try:
        message = PictureEvent.FromString(record.value)
    except DecodeError as error:
        raise Poison(record, f"cannot be read as {_TYPE}: {error}") from error
    if message.url_hash != record.key:
        raise Poison(record, "url_hash is not the key of the message")
    event = _event_of(message)
    if event is None:
        raise Poison(record, "has no event")
    if (
        isinstance(event, Loaded)
        and isinstance(event.outcome, PictureInfo)
        and event.outcome.namespace != event.namespace
    ):
        raise Poison(record, f"brings a picture of {event.outcome.namespace!r} for {event.namespace!r}")
    return message.url, message.url_hash, event


def _event_of(message: PictureEvent) -> Event | None:
    at = message.event_time.ToDatetime(tzinfo=UTC)
    match message.WhichOneof("event"):
        case "requested":
            return _request(message, at)
        case "loaded":
            return _loaded(message, at)
        case "look_again":
            look = message.look_again
            return Look(look.force, at, look.refresh, frozenset(look.lost_attempts))
        case "delete_picture":
            deletion = message.delete_picture
            if deletion.reason == DELETE_REASON_REQUESTED:
                return Deletion(deletion.namespace, at)
            if deletion.reason == DELETE_REASON_GIVEN_UP:
                return GivenUp(deletion.namespace, deletion.recipient, at)
            return Unused(at)
        case "move_picture":
            move = message.move_picture
            return Move(move.to_url, url_hash(move.to_url), frozenset(move.namespaces), move.put, at)
        case "adopt_pictures":
            return Adopt(tuple(message.adopt_pictures.pictures), message.adopt_pictures.put, at)
        case _:
            return None


def _request(message: PictureEvent, at: datetime) -> Request:
    requested = message.requested
    return Request(
        requested.namespace,
        requested.recipient,
        requested.reference,
        requested.requested_url or message.url,
        at,
        requested.client,
    )


def _loaded(message: PictureEvent, at: datetime) -> Loaded | None:
    loaded = message.loaded
    kind = loaded.WhichOneof("outcome")
    if kind is None:
        return None
    fresh_for = timedelta(seconds=min(loaded.fresh_for_s, _LONGEST_S)) if loaded.fresh_for_s > 0 else None
    return Loaded(loaded.namespace, loaded.attempt, getattr(loaded, kind), at, fresh_for)
