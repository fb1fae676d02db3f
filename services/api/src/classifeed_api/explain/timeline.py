"""The timeline of an offer: each stage in order, described from the facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from classifeed.feeds.v1 import explanation_pb2 as stages
from classifeed.feeds.v1.explanation_pb2 import ExplanationStage, ExplanationStep
from classifeed_api.domain.unknown import UNKNOWN
from classifeed_api.explain import sentences
from classifeed_api.explain.after_the_load import (
    describe_applied,
    describe_moderation,
    describe_registered,
    describe_searchable,
)
from classifeed_api.explain.checks import describe_checks
from classifeed_api.explain.facts import Facts
from classifeed_api.explain.in_the_load import describe_batch, describe_file, describe_offer
from classifeed_api.explain.pictures import describe_pictures
from classifeed_api.explain.source import describe_source
from classifeed_api.explain.steps import DONE, SKIPPED, STOPPED, WAITING, found_since, found_state, step

_SOURCE: Final = stages.EXPLANATION_STAGE_SOURCE
_OFFER: Final = stages.EXPLANATION_STAGE_OFFER
_APPLIED: Final = stages.EXPLANATION_STAGE_APPLIED
_MODERATION: Final = stages.EXPLANATION_STAGE_MODERATION
_REGISTERED: Final = stages.EXPLANATION_STAGE_REGISTERED
_SEARCHABLE: Final = stages.EXPLANATION_STAGE_SEARCHABLE
_STAGES: Final[tuple[tuple[ExplanationStage, Callable[[Facts], ExplanationStep]], ...]] = (
    (_SOURCE, describe_source),
    (stages.EXPLANATION_STAGE_FILE, describe_file),
    (_OFFER, describe_offer),
    (stages.EXPLANATION_STAGE_CHECKS, describe_checks),
    (stages.EXPLANATION_STAGE_BATCH, describe_batch),
    (_APPLIED, describe_applied),
    (_MODERATION, describe_moderation),
    (stages.EXPLANATION_STAGE_PICTURES, describe_pictures),
    (_REGISTERED, describe_registered),
    (_SEARCHABLE, describe_searchable),
)


def describe_stages(facts: Facts) -> list[ExplanationStep]:
    """Return one step per stage, in order.

    All stages after one that stopped the offer are skipped, except the list of offers if it shows the removal. Times
    never run backwards: a step from an earlier load has no time.
    """
    steps: list[ExplanationStep] = []
    is_stopped = is_awaited = False
    for stage, describe in _STAGES:
        if is_stopped:
            steps.append(_beyond(stage, facts))
            continue
        if is_awaited:
            steps.append(_not_yet(stage, facts))
            continue
        described = describe(facts)
        steps.append(described)
        is_stopped = described.state == STOPPED
        is_awaited = described.state == WAITING and _holds_back(stage, facts)
    _drop_earlier_times(steps)
    return steps


def _drop_earlier_times(steps: Iterable[ExplanationStep]) -> None:
    latest = 0
    for described in steps:
        moment = described.time.ToNanoseconds()
        if moment < latest:
            described.ClearField("time")
        else:
            latest = moment


def _holds_back(stage: ExplanationStage, facts: Facts) -> bool:
    """Whether an offer that waits at a stage waits at the later ones, too; not if an earlier state is shown."""
    if stage == _MODERATION:
        return facts.kept is None or not facts.kept.HasField("published_content")
    if stage == _APPLIED:
        return facts.kept is None or not facts.kept.waiting_task_id
    return stage == _SOURCE


def _beyond(stage: ExplanationStage, facts: Facts) -> ExplanationStep:
    offer, hit, look = facts.kept, facts.found, facts.look
    if stage == _OFFER and look is not None and look.line:
        return step(stage, SKIPPED, sentences.ON_LINE_NOT_READ.format(line=look.line), line=look.line)
    if stage == _APPLIED and offer is not None and offer.last_task_id:
        if facts.is_removed:
            is_it = look is not None and look.task.task_id == offer.last_task_id
            text = sentences.REMOVED.format(load=offer.last_task_id)
            return step(stage, DONE if is_it else SKIPPED, text, time=offer.update_time)
        return step(stage, SKIPPED, sentences.STAYS.format(load=offer.last_task_id), time=offer.update_time)
    if stage == _REGISTERED and offer is not None and facts.is_removed:
        notice = "has been" if offer.published_version >= offer.version else "is about to be"
        return step(stage, SKIPPED, sentences.REGISTRY_OF_REMOVAL.format(notice=notice))
    if stage == _SEARCHABLE and facts.is_removed:
        return step(stage, SKIPPED, _forgotten(facts))
    if stage == _SEARCHABLE and hit is not None:
        text = sentences.STILL_SEARCHABLE.format(state=found_state(facts), since=found_since(hit))
        return step(stage, SKIPPED, text, time=hit.index_time)
    return step(stage, SKIPPED, sentences.NOT_REACHED)


def _forgotten(facts: Facts) -> str:
    if facts.document is UNKNOWN:
        return sentences.FORGOTTEN_UNKNOWN
    return sentences.FORGOTTEN if facts.document is None else sentences.FORGOTTEN_SOON


def _not_yet(stage: ExplanationStage, facts: Facts) -> ExplanationStep:
    hit = facts.found
    if stage == _SEARCHABLE and hit is not None and not facts.is_removed:
        return step(stage, WAITING, sentences.NOT_REACHED_BUT_FOUND.format(state=found_state(facts)))
    return step(stage, WAITING, sentences.NOT_REACHED_YET)
