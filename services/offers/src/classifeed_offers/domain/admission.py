"""Admission of a poll's requests: in order, each once, and none of a run below the highest run of its namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias

from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, RunCheck, TaskEnd
from classifeed.feeds.v1.offer_results_pb2 import OfferBatchResult, RunCheckResult, TaskEndResult
from classifeed_offers.domain.offers import Namespace, Run

Request: TypeAlias = OfferBatch | TaskEnd | RunCheck
Reply: TypeAlias = OfferBatchResult | TaskEndResult | RunCheckResult


class BatchKey(NamedTuple):
    """Identity of a batch."""

    namespace: Namespace
    run: Run
    batch_id: int


class RunKey(NamedTuple):
    """Identity of a run."""

    namespace: Namespace
    run: Run

    @property
    def names(self) -> dict[str, str | int]:
        """Names of the run in the log."""
        (seller_id, namespace), (task_id, number) = self
        return {"seller": seller_id, "namespace": namespace, "task": task_id, "run": number}


class Admission(Enum):
    """Treatment of a request."""

    APPLY = "apply"
    STALE = "stale"  # a higher run was seen, or its own run is completed: changes nothing
    REPEATED = "repeated"  # applied before: changes nothing, and gets the same result again
    REFUSED = "refused"  # has the numbers of an applied request, but other content
    CHECK = "check"  # only needs a reply in its order


def namespace_of(request: Request) -> Namespace:
    """Return the namespace that a request is about."""
    return Namespace(request.seller_id, request.namespace)


def run_key_of(message: Request | Reply) -> RunKey:
    """Return the run that a request or a reply belongs to."""
    return RunKey(Namespace(message.seller_id, message.namespace), Run(message.task_id, message.run))


def batch_key_of(batch: OfferBatch) -> BatchKey:
    """Return the identity of a batch."""
    return BatchKey(*run_key_of(batch), batch.batch_id)


def admit(
    requests: Sequence[Request],
    heads: Mapping[Namespace, Run],
    applied: Mapping[BatchKey, bytes],
    ended: Mapping[RunKey, bytes | None],
) -> tuple[list[Admission], dict[Namespace, Run]]:
    """Return how each request is treated, and the heads that moved.

    Args:
        requests: requests in the order of their partition.
        heads: highest run seen in each namespace of the requests; (0, 0) for a namespace without loads.
        applied: digests of the batches in `requests` that were applied before.
        ended: digests of the runs in `requests` whose end was recorded before; None: the digest is unknown.
    """
    now_heads = dict(heads)
    now_applied = dict(applied)
    now_ended = dict(ended)
    admissions = []
    for request in requests:
        key = run_key_of(request)
        if isinstance(request, RunCheck):
            admissions.append(Admission.CHECK)
            continue
        if isinstance(request, OfferBatch):
            batch_key = BatchKey(*key, request.batch_id)
            if batch_key in now_applied:
                admissions.append(_repeated(request.digest, now_applied[batch_key]))
                continue
            if key.run < now_heads[key.namespace] or key in now_ended:
                admissions.append(Admission.STALE)
                continue
            now_applied[batch_key] = request.digest
        else:
            if key in now_ended:
                admissions.append(_repeated(request.digest, now_ended[key]))
                continue
            if key.run < now_heads[key.namespace]:
                admissions.append(Admission.STALE)
                continue
            now_ended[key] = request.digest
        now_heads[key.namespace] = key.run
        admissions.append(Admission.APPLY)
    moved = {namespace: run for namespace, run in now_heads.items() if run != heads[namespace]}
    return admissions, moved


def _repeated(digest: bytes, known: bytes | None) -> Admission:
    return Admission.REPEATED if known is None or digest == known else Admission.REFUSED
