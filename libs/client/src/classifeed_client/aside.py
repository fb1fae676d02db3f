"""Blocking calls that Ctrl-C may interrupt.

An exception that a signal handler raises while gRPC starts a call can leave the channel so that closing it blocks for
ever (seen with grpcio 1.85 in one try of fourteen; grpc/grpc issue 19973 is of this kind). Handlers run in the main
thread, so calls from there get a thread of their own: a signal interrupts the wait for it, never the call, which ends
when the client is closed. Other threads call as they are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextvars import copy_context
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")


def aside(call: Callable[[], T]) -> T:
    """Return what a call returns, or raise what it raises."""
    return begin(call).result() if _is_interruptible() else call()


def begin(call: Callable[[], T]) -> Future[T]:
    """Return what a call will return, or raise, in a thread of its own: for calls that wait beside each other."""
    response: Future[T] = Future()

    def finish() -> None:
        try:
            response.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is the caller's, who waits for it
            response.set_exception(error)

    _start(finish)
    return response


def stream_aside(call: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Yield what the stream of a call yields, and raise what it raises.

    A stream that is left early goes on until it ends, or the client is closed.
    """
    if not _is_interruptible():
        yield from call()
        return
    messages: SimpleQueue[Future[T] | None] = SimpleQueue()

    def pass_on() -> None:
        try:
            for message in call():
                response: Future[T] = Future()
                response.set_result(message)
                messages.put(response)
        except BaseException as error:  # noqa: BLE001 - it is the caller's, who waits for it
            response = Future()
            response.set_exception(error)
            messages.put(response)
        messages.put(None)

    _start(pass_on)
    while response := messages.get():
        yield response.result()


def _is_interruptible() -> bool:
    return threading.current_thread() is threading.main_thread()


def _start(work: Callable[[], None]) -> None:
    threading.Thread(target=copy_context().run, args=(work,), name="call", daemon=True).start()
