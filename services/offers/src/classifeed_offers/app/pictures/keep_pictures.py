"""Apply results about pictures: documents get the new addresses, and loads learn of failed pictures."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from classifeed.feeds.v1.offer_results_pb2 import LateError, LateResult
from classifeed.pictures.v1.requests_pb2 import PictureResult, PictureResults
from classifeed_common.db import Tx
from classifeed_common.pacing.yielding import Yielder
from classifeed_common.splitting import split_by_size
from classifeed_offers.domain.issues import picture_issue
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.domain.pictures import (
    PICTURE_NAMESPACE,
    PictureChange,
    apply_results,
    newest_results,
    parse_reference,
)
from classifeed_offers.domain.results import late_result
from classifeed_offers.store import applying, picturing

_log = structlog.get_logger(__name__)


async def keep_pictures(tx: Tx, messages: Sequence[PictureResults]) -> list[LateResult]:
    """Apply results and return the failures that loads must learn of. Results that were applied before change nothing.

    Args:
        tx: transaction for all effects.
        messages: results in the order of their partition. Results of other namespaces of pictures, and results that
            name no offer of ours, are ignored.
    """
    found = _by_offer(messages)
    heads = await applying.lock_heads(tx, set(found), create=False)
    await applying.forbid_scans(tx)
    late: list[LateResult] = []
    for namespace, results_of in found.items():
        if namespace in heads:
            late += await _apply_to_namespace(tx, namespace, results_of)
        else:
            _log.debug(
                "offers.pictures.skipped", **namespace._asdict(), offers=len(results_of), why="no such namespace"
            )
    return late


def _by_offer(messages: Sequence[PictureResults]) -> dict[Namespace, dict[str, list[PictureResult]]]:
    found: dict[Namespace, dict[str, list[PictureResult]]] = {}
    for message in messages:
        for result in message.results:
            reference = parse_reference(message.recipient, result.reference)
            if reference is None or result.namespace != PICTURE_NAMESPACE:
                _log.debug(
                    "offers.pictures.skipped", recipient=message.recipient, reference=result.reference, why="foreign"
                )
                continue
            namespace, external_id = reference
            found.setdefault(namespace, {}).setdefault(external_id, []).append(result)
    return found


async def _apply_to_namespace(
    tx: Tx, namespace: Namespace, results_of: dict[str, list[PictureResult]]
) -> list[LateResult]:
    changes: list[tuple[int, PictureChange]] = []
    errors_of: dict[int, list[LateError]] = {}
    yielder = Yielder()
    for offer in await picturing.list_pictures(tx, namespace, list(results_of)):
        await yielder.yield_if_due()
        if not offer.exists or offer.pictures is None:
            continue
        change = apply_results(offer.pictures, newest_results(results_of[offer.external_id]))
        if change is None:
            continue
        changes.append((offer.offer_id, change))
        for picture in change.failed:
            # No count changes: the offer is in the search even without the picture.
            issue = picture_issue(offer.external_id, picture, ordinal=picture.ordinal, line=picture.line)
            error = LateError(error=issue)
            errors_of.setdefault(picture.task_id, []).append(error)
    if changes:
        await picturing.save_results(tx, changes)
    if len(changes) < len(results_of):
        _log.debug(
            "offers.pictures.skipped", **namespace._asdict(), offers=len(results_of) - len(changes), why="no news"
        )
    return [
        late_result(namespace, task_id, part) for task_id, errors in errors_of.items() for part in split_by_size(errors)
    ]
