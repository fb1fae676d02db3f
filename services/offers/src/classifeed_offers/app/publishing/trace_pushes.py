"""Sampling of pushes in the traces of the loads that caused them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

from classifeed_common.telemetry.tracing import (
    context_of,
    describe_span,
    entered,
    is_sampled,
    is_traced,
    traceparent_of,
    unrecorded,
)
from classifeed_offers.domain.documents import DueOffer
from classifeed_offers.domain.offers import Namespace

_tracer = trace.get_tracer("classifeed_offers")
_REMEMBERED: Final = 1000


class PushTraces:
    """Makes the spans of pushes; the more pushes a load has, the fewer of them get a span (`is_sampled`).

    For each span, one document carries the trace to the index. The call to the receiver belongs to the trace of the
    first load that gets a span.
    """

    def __init__(self) -> None:
        self._pushes: dict[str, int] = {}

    @contextmanager
    def push(self, dues: Sequence[DueOffer], loads: Mapping[Namespace, Mapping[str, str]]) -> Iterator[dict[int, str]]:
        """Let the push that is made inside belong to the traces of its loads.

        Args:
            dues: offers that are pushed.
            loads: trace headers of the newest load of each namespace.

        Yields:
            The `traceparent` of each document that carries one, by its index in `dues`.
        """
        spans: list[Span] = []
        carried: dict[int, str] = {}
        call: Context | None = None
        for namespace, (first, count) in _count(dues, loads).items():
            parent = context_of(loads[namespace])
            if not is_traced(parent):
                continue
            if self._is_next_sampled(traceparent_of(parent)):
                spans.append(span := _tracer.start_span("publish offers", context=parent))
                seen = trace.set_span_in_context(span, parent)
                describe_span(seen, seller=namespace.seller_id, namespace=namespace.namespace, documents=count)
                carried[first] = traceparent_of(seen)
                call = seen if len(spans) == 1 else call
            elif call is None:
                call = unrecorded(parent)
        try:
            with entered(call):
                yield carried
        finally:
            for span in spans:
                span.end()

    def _is_next_sampled(self, load: str) -> bool:
        number = self._pushes.pop(load, 0) + 1
        self._pushes[load] = number
        if len(self._pushes) > _REMEMBERED:
            del self._pushes[next(iter(self._pushes))]
        return is_sampled(number)


def _count(dues: Sequence[DueOffer], loads: Mapping[Namespace, Mapping[str, str]]) -> dict[Namespace, tuple[int, int]]:
    """Return the index of the first offer and the number of offers of each namespace that has a trace."""
    found: dict[Namespace, tuple[int, int]] = {}
    for index, due in enumerate(dues):
        namespace = Namespace(due.seller_id, due.namespace)
        if namespace in loads:
            first, count = found.get(namespace, (index, 0))
            found[namespace] = (first, count + 1)
    return found
