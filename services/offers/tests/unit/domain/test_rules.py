"""The small pure rules: wholeness of a run, effect of a patch, names."""

from __future__ import annotations

from collections.abc import Sequence

from classifeed.feeds.v1.load_pb2 import LOAD_MODE_REPLACE
from classifeed.feeds.v1.offer_requests_pb2 import TaskEnd
from classifeed.offers.v1.offer_pb2 import Attribute, OfferContent, Price
from classifeed_offers.domain.completion import Wholeness, check_whole
from classifeed_offers.domain.decide import RecordOutcome, decide
from classifeed_offers.domain.moderation import ApprovedBySetting
from classifeed_offers.domain.offers import Change, OfferState, Origin, Status, digest_of
from classifeed_offers.domain.patch import merge_content
from classifeed_offers.domain.results import BatchSummary, applied_batch

from ...conftest import Load, Records

BATCHES = [(number, bytes([number]) * 16) for number in range(1, 6)]


def end_of(batches: Sequence[tuple[int, bytes]]) -> TaskEnd:
    return TaskEnd(batch_count=len(batches), digest=digest_of(b"".join(digest for _, digest in batches)))


def test_a_run_is_whole_with_all_its_batches_as_sent() -> None:
    assert check_whole(end_of(BATCHES), BATCHES) == Wholeness(whole=True, missing=[])
    assert check_whole(end_of([]), []) == Wholeness(whole=True, missing=[])


def test_missing_batches_are_named_up_to_a_hundred() -> None:
    assert check_whole(end_of(BATCHES), [*BATCHES[:1], *BATCHES[3:]]) == Wholeness(whole=False, missing=[2, 3])
    assert check_whole(TaskEnd(batch_count=1000), BATCHES).missing == list(range(6, 106))


def test_a_batch_too_many_or_of_other_content_is_not_whole() -> None:
    assert check_whole(end_of(BATCHES[:4]), BATCHES) == Wholeness(whole=False, missing=[])
    assert check_whole(end_of(BATCHES[:4]), [*BATCHES[:3], BATCHES[4]]) == Wholeness(whole=False, missing=[4])
    assert check_whole(end_of(BATCHES), [*BATCHES[:4], (5, b"x" * 16)]) == Wholeness(whole=False, missing=[])


def test_an_unchanged_banned_offer_counts_as_rejected_by_moderation(records: Records) -> None:
    record = records.good("a")
    banned = OfferState(1, record.content_hash, Origin.FEED, Status.BANNED, 1, Change.ADDED, "service")
    for task in (1, 2):
        decision = decide(record, banned, task_id=task, mode=LOAD_MODE_REPLACE, moderation=ApprovedBySetting())
        assert (decision.outcome, decision.state, decision.seen) == (RecordOutcome.REJECTED_MODERATION, None, True)


def test_a_patch_replaces_named_fields_whole() -> None:
    stored = OfferContent(
        title="t",
        price=Price(amount_micros=1, currency_code="RUB"),
        attributes=[Attribute(name="a", value="1"), Attribute(name="b", value="2")],
        stock_quantity=5,
        available=True,
    )
    patch = OfferContent(attributes=[Attribute(name="a", value="3")], title="ignored", vendor="ignored")
    merged = merge_content(
        stored.SerializeToString(), patch, ["attributes", "available", "stock_quantity", "price", "url"]
    )
    assert merged == OfferContent(title="t", attributes=[Attribute(name="a", value="3")])


def test_an_owner_s_warning_has_the_same_id_in_every_run(records: Records, new_load: type[Load]) -> None:
    from classifeed_offers.domain.decide import Finding

    ids = set()
    for run in (1, 2):
        batch = new_load([records.kept("a")], run=run).batches[0]
        result = BatchSummary()
        result.add(batch.records[0], RecordOutcome.SKIPPED, Finding.KEPT_NOTHING)
        (error,) = applied_batch(batch, result.to_keep(batch)).errors
        ids.add(error.error_id)
    assert len(ids) == 1
