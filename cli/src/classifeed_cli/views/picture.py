"""Output of pictures, their states and their namespaces for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo, PictureState
from classifeed.pictures.v1.picture_service_pb2 import PictureNamespace, SimilarPicture, SizeRule
from classifeed_cli.developer_hints import hint_of
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.table import Table
from classifeed_cli.terminal.wrapping import one_line
from classifeed_cli.views.amounts import size_words, time_words

ORIGINAL: Final = "orig"
"""Name of the original size."""
_WIDTH: Final = 11
SIMILAR: Final = Table[SimilarPicture](
    {
        "distance": lambda each: each.distance,
        "namespace": lambda each: each.picture.namespace,
        "size": lambda each: f"{each.picture.width}x{each.picture.height} {each.picture.format}",
        "picture": lambda each: each.url or "of a URL that is not known any more",
    },
    below=lambda each: [path_of(each.picture)],
)
NAMESPACES: Final = Table[PictureNamespace](
    {
        "namespace": lambda each: each.name,
        "pictures": lambda each: f"{each.pictures:,}",
        "used": lambda each: size_words(each.used_bytes),
        "quota": lambda each: size_words(each.quota_bytes) if each.quota_bytes else "none",
        "formats": lambda each: ", ".join(each.formats),
    },
    below=lambda each: [", ".join(map(_rule_words, each.sizes)) or "no sizes, only originals"],
)


def show_states(out: Output, states: Sequence[PictureState]) -> None:
    """Print the state of each URL."""
    for state in states:
        show_state(out, state)


def show_state(out: Output, state: PictureState) -> None:
    """Print the state of a URL: the stored pictures, the last failure, and the next attempt."""
    out.say(f"{one_line(state.url)}: {status_words(state)}")
    if not state.known:
        out.say("  nothing is known of it: `classifeed picture request` requests it, `put` brings its bytes", hang=2)
        return
    for picture in state.pictures:
        show_picture(out, picture)
    has_failed = state.HasField("last_failure")
    fields = {
        "failure": _failure_words(state.last_failure) if has_failed else "",
        "failed": f"{state.failed_attempts:,} in a row" if has_failed else "",
        "attempt": time_words(state.attempt_time) if state.HasField("attempt_time") else "",
        "next": _next_words(state),
        "requested": time_words(state.request_time) if state.HasField("request_time") else "",
        "waiting": f"requests: {state.requests_in_flight:,}" if state.requests_in_flight else "",
        "unused": _unused_words(state),
    }
    out.fields(fields, _WIDTH)


def show_requested(out: Output, states: Sequence[PictureState], namespace: str) -> None:
    """Print the outcome of each request of a namespace."""
    for state in states:
        kept = next((picture for picture in state.pictures if picture.namespace == namespace), None)
        if kept is None:
            show_state(out, state)
            continue
        out.say(f"{one_line(state.url)}: {status_words(state)}")
        show_picture(out, kept)


def show_picture(out: Output, picture: PictureInfo) -> None:
    """Print a stored picture: its properties, address and sizes."""
    frames = f", {picture.frames:,} frames" if picture.frames > 1 else ""
    kept = f"{picture.width}x{picture.height} {picture.format}{frames}, {size_words(picture.size_bytes)}"
    if picture.HasField("store_time"):
        kept += f", stored {time_words(picture.store_time)}"
    sizes = [f"{size.name} {size.width}x{size.height} ({', '.join(size.formats)})" for size in picture.sizes]
    out.fields({picture.namespace: kept, "address": path_of(picture), "sizes": ", ".join([*sizes, ORIGINAL])}, _WIDTH)


def path_of(picture: PictureInfo) -> str:
    """Return the address of a picture, without a size."""
    return f"/get/{picture.namespace}/{picture.group_id}/{picture.name}"


def status_words(state: PictureState) -> str:
    """Return the state of a picture in a word or two."""
    if not state.known:
        return "unknown"
    if state.pictures:
        return "stored by hand" if state.put else "stored"
    return "failed" if state.HasField("last_failure") else "under way"


def _next_words(state: PictureState) -> str:
    if state.HasField("refresh_time") and state.next_attempt_time == state.refresh_time:
        return f"refresh at {time_words(state.refresh_time)} at the earliest"
    if state.HasField("next_attempt_time"):
        return f"attempt at {time_words(state.next_attempt_time)} at the earliest"
    if state.HasField("last_failure") and not state.pictures:
        return "only when it is requested again, or by `classifeed picture look-again`"
    return ""


def _unused_words(state: PictureState) -> str:
    if not state.HasField("delete_mark_time"):
        return ""
    return f"since {time_words(state.delete_mark_time)}; the next comparison deletes it a day later"


def _failure_words(failure: LoadFailure) -> str:
    status = f" (HTTP {failure.http_status})" if failure.http_status else ""
    return " ".join(filter(None, [f"{failure.code}{status}: {one_line(failure.message)}", hint_of(failure.code)]))


def _rule_words(rule: SizeRule) -> str:
    return f"{rule.name} {rule.width}x{rule.height}{' crop' if rule.crop else ''}"
