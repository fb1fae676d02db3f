"""Blocking calls that Ctrl-C may interrupt.

If a signal handler raises an exception while gRPC starts a call, closing the channel can block forever (grpc/grpc
issue 19973). Signal handlers run in the main thread. Calls from the main thread are therefore made in a separate
thread: a signal interrupts the wait, not the call, which ends when the client is closed. Calls from other threads run
directly.
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
    """Make a call, interruptible by a signal; return its result or raise its exception."""
    return begin(call).result() if _is_interruptible() else call()


def begin(call: Callable[[], T]) -> Future[T]:
    """Start a call in a separate thread and return its future, so that several calls can wait concurrently."""
    response: Future[T] = Future()

    def finish() -> None:
        try:
            response.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised where the caller waits for the result
            response.set_exception(error)

    _start(finish)
    return response


def stream_aside(call: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Yield the messages of a streaming call, interruptible by a signal; raise its exception.

    If the caller stops iterating early, the stream runs until it ends or the client is closed.
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
        except BaseException as error:  # noqa: BLE001 - raised where the caller waits for the message
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
