"""Query parameters of a response: `ff=` selects fields, `format=` the encoding."""

from __future__ import annotations

from typing import Final

from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from starlette.requests import Request
from starlette.responses import Response

from classifeed.pictures.v1.picture_pb2 import PictureState, PictureStateBatch
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.pacing.yielding import map_yielding

_FORMATS: Final = ("json", "protobuf")


def check_query(request: Request) -> tuple[list[str], str]:
    """Return the names of the requested fields (none: all), and the format.

    Raises:
        InvalidArgument: REQUEST_INVALID.
    """
    fields = [name for name in request.query_params.get("ff", "").split(",") if name]
    known = PictureState.DESCRIPTOR.fields_by_name
    if unknown := [name for name in fields if name not in known]:
        raise _refused("ff", f"There is no field {unknown[0][:64]!r}. Fields are: {', '.join(known)}.")
    format_ = request.query_params.get("format", "json")
    if format_ not in _FORMATS:
        raise _refused("format", f"There is no format {format_[:64]!r}. Formats are: {', '.join(_FORMATS)}.")
    return fields, format_


def picked(state: PictureState, fields: list[str]) -> PictureState:
    """Return a state with the given fields only; with all if none is given."""
    if not fields:
        return state
    for descriptor, _ in state.ListFields():
        if descriptor.name not in fields:
            state.ClearField(descriptor.name)
    return state


def written(state: PictureState, format_: str) -> Response:
    """Return a response with a state."""
    if format_ == "protobuf":
        return Response(state.SerializeToString(), media_type="application/x-protobuf")
    return Response(_json(state), media_type="application/json")


async def written_batch(states: list[PictureState], format_: str) -> Response:
    """Return a response with states as a PictureStateBatch; other coroutines run in between."""
    if format_ == "protobuf":
        return Response(PictureStateBatch(states=states).SerializeToString(), media_type="application/x-protobuf")
    parts = await map_yielding(_json, states)
    return Response(f'{{"states": [{", ".join(parts)}]}}', media_type="application/json")


def _json(message: Message) -> str:
    return MessageToJson(message, preserving_proto_field_name=True, indent=None)


def _refused(field: str, message: str) -> InvalidArgument:
    return InvalidArgument("REQUEST_INVALID", message, violations=[FieldViolation(field, message)])
