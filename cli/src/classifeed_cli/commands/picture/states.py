"""`classifeed picture state|request`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final

import typer

from classifeed.pictures.v1.picture_pb2 import PictureState
from classifeed_cli.commands.picture.options import OFFERS, KeeperOption, UrlsArgument
from classifeed_cli.exit_codes import CommandError, ExitCode, refused
from classifeed_cli.messages import document_of
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.interruption import Interruption
from classifeed_cli.views.picture import show_requested, show_states
from classifeed_client import DeadlineExceeded, PictureClient, Unreachable

_POLL_S: Final = 0.3


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (state, request):
        group.command()(command)


@with_session
def state(session: Session, urls: UrlsArgument) -> int:
    """Print the states of pictures by URL. Exit code 1 if one of them is unknown."""
    with session.picture_client() as client:
        states = client.get_states(urls)
    show_states(session.out, states)
    session.out.document(_document(states))
    return ExitCode.DONE if all(each.known for each in states) else ExitCode.REFUSED


@with_session
def request(
    session: Session,
    urls: UrlsArgument,
    namespace: KeeperOption = OFFERS,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until each is stored or has failed.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Maximum time for --wait, in seconds.")] = 120,
) -> int:
    """Request pictures for a namespace. With --wait, exit code 1 if one has failed."""
    out = session.out
    with session.picture_client() as client:
        _check_namespace(client, namespace)
        before = client.get_states(urls)
        client.request(urls, namespace)
        if not wait:
            out.say(f"requested for {namespace}: {len(urls)}; `classifeed picture state` shows the outcome")
            out.document({"requested": len(urls), "namespace": namespace})
            return ExitCode.DONE
        with Interruption("the pictures stay requested; see `classifeed picture state`"):
            states = _wait(client, urls, namespace, before, timeout)
    show_requested(out, states, namespace)
    out.document(_document(states))
    return ExitCode.DONE if all(_keeps(each, namespace) for each in states) else ExitCode.REFUSED


def _check_namespace(client: PictureClient, namespace: str) -> None:
    # A request is a message on a topic, so no response would report an unknown namespace.
    names = [each.name for each in client.list_namespaces()]
    if namespace not in names:
        raise refused(
            "PICTURE_NAMESPACE_UNKNOWN",
            f"there is no namespace {namespace!r} of pictures; there are: {', '.join(names)}. "
            f"`classifeed picture namespace {namespace}` makes one.",
            namespace=namespace,
        )


def _wait(
    client: PictureClient, urls: Sequence[str], namespace: str, before: Sequence[PictureState], timeout_s: float
) -> list[PictureState]:
    """Return the states once each picture is stored, or has a failure that is the outcome of this request.

    Raises:
        CommandError: TIME_OUT; its document has the states.
    """
    ends_at = time.monotonic() + timeout_s
    states = list(before)
    while True:
        # Wait for a service that restarts: the requests are stored.
        with suppress(Unreachable, DeadlineExceeded):
            states = client.get_states(urls)
        open_urls = [now.url for then, now in zip(before, states, strict=True) if not _is_over(then, now, namespace)]
        if not open_urls:
            return states
        left_s = ends_at - time.monotonic()
        if left_s <= 0:
            raise _not_over(open_urls, states, timeout_s)
        time.sleep(min(_POLL_S, left_s))


def _is_over(before: PictureState, now: PictureState, namespace: str) -> bool:
    if _keeps(now, namespace):
        return True
    if not now.HasField("last_failure"):
        return False
    # An earlier failure is the outcome of this request, too, if the request caused no new attempt.
    is_taken = now.request_time.ToNanoseconds() > before.request_time.ToNanoseconds()
    return now.failed_attempts > before.failed_attempts or (is_taken and now.attempt == before.attempt)


def _keeps(state: PictureState, namespace: str) -> bool:
    return any(picture.namespace == namespace for picture in state.pictures)


def _not_over(open_urls: Sequence[str], states: Sequence[PictureState], timeout_s: float) -> CommandError:
    more = f" and {len(open_urls) - 1} more" if len(open_urls) > 1 else ""
    return CommandError(
        ExitCode.TIME_OUT,
        "PICTURES_NOT_STORED",
        f"{open_urls[0]}{more}: neither stored nor failed within {timeout_s:g} s; they stay requested. "
        "See `classifeed picture state`, `classifeed picture namespaces` for a full quota, and `classifeed status`.",
        {"url": open_urls[0], "open": str(len(open_urls))},
        _document(states),
    )


def _document(states: Sequence[PictureState]) -> Mapping[str, Any]:
    return {"states": [document_of(each) for each in states]}
