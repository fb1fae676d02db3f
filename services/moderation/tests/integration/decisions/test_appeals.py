"""Appeals: who may make and decide them, what a decision changes and records, and that a late one changes nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, timedelta

import pytest

from classifeed.moderation.v1.events_pb2 import ModerationEvent
from classifeed.moderation.v1.moderation_service_pb2 import (
    APPEAL_STATE_OPEN,
    AppealRecord,
    AppealRequest,
    AppealState,
    DecideAppealRequest,
    GetAppealRequest,
    ListAppealsRequest,
)
from classifeed.moderation.v1.subject_pb2 import (
    DECISION_MAKER_REVIEWER,
    MODERATION_STATUS_APPROVED,
    MODERATION_STATUS_DISAPPROVED,
    Decision,
    ModerationStatus,
)
from classifeed_common.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
)
from classifeed_common.rpc.call import enter_call
from classifeed_moderation.app.appeals.decide_appeal import DecideAppeal
from classifeed_moderation.app.decisions.apply_verdicts import Arrived
from classifeed_moderation.app.points.comment_point import comment_point
from classifeed_moderation.domain.points import Author, AuthorRole
from classifeed_moderation.domain.subjects import Status
from classifeed_moderation.domain.verdicts import END, parse_callback, to_json
from classifeed_moderation.rpc.moderation_service.appeals import AppealMethods

from ...conftest import NO_CONTEXT, Moderation
from .test_verdicts import KEY, outcomes, send

BAD = "text_toloka_obscene"
APPROVED, REFUSED = MODERATION_STATUS_APPROVED, MODERATION_STATUS_DISAPPROVED


MOST_OPEN = 6


def appeals_of(moderation: Moderation) -> AppealMethods:
    return AppealMethods(
        moderation.database,
        DecideAppeal(moderation.database, moderation.deciding),
        most_open=MOST_OPEN,
    )


async def appeal(moderation: Moderation, key: str, *, author: str = "", reason: str = "no") -> AppealRecord:
    author = author or ("seller" if key.startswith("offer/") else "author")
    return await appeals_of(moderation).Appeal(AppealRequest(key=key, author_id=author, reason=reason), NO_CONTEXT)


async def decide(
    moderation: Moderation, appeal_id: int, reviewer: str, status: ModerationStatus = APPROVED, *, rule: str = "a model"
) -> Decision:
    request = DecideAppealRequest(appeal_id=appeal_id, status=status, reviewer=reviewer, rule=rule)
    return await appeals_of(moderation).DecideAppeal(request, NO_CONTEXT)


async def open_appeals(moderation: Moderation) -> list[int]:
    found = await appeals_of(moderation).ListAppeals(ListAppealsRequest(), NO_CONTEXT)
    return [each.appeal_id for each in found.appeals]


async def refuse_on_appeal(moderation: Moderation, reviewer: str) -> Decision:
    """Let a rule refuse a point, then a reviewer; return the second decision."""
    point_id = await moderation.create_point()
    await moderation.apply(point_id, BAD)
    first = await appeal(moderation, str(point_id))
    return await decide(moderation, first.appeal_id, reviewer, REFUSED)


async def test_an_appeal_names_the_decision_and_is_listed_until_it_is_decided(moderation: Moderation) -> None:
    await moderation.apply(await send(moderation, "A lamp"), BAD)
    made = await appeal(moderation, KEY, author="seller", reason="It is a model.")
    assert (made.key, made.author_id, made.reason) == (KEY, "seller", "It is a model.")
    assert (made.decision.rule, made.decision.status) == (BAD, REFUSED)
    assert await appeal(moderation, KEY, author="seller", reason="It is a model.") == made
    with pytest.raises(AlreadyExists):
        await appeal(moderation, KEY, author="seller", reason="another")
    assert await open_appeals(moderation) == [made.appeal_id]
    await decide(moderation, made.appeal_id, "ann")
    assert await open_appeals(moderation) == []


async def test_pages_of_appeals(moderation: Moderation) -> None:
    made = []
    for number in range(5):
        point_id = await moderation.create_point(f"text {number}")
        await moderation.apply(point_id, BAD)
        made.append((await appeal(moderation, str(point_id))).appeal_id)
    found, token = [], ""
    while True:
        request = ListAppealsRequest(page_size=2, page_token=token)
        page = await appeals_of(moderation).ListAppeals(request, NO_CONTEXT)
        found += [each.appeal_id for each in page.appeals]
        token = page.next_page_token
        if not token:
            break
    assert found == made
    with pytest.raises(InvalidArgument, match="PAGE_TOKEN_INVALID"):
        await appeals_of(moderation).ListAppeals(ListAppealsRequest(page_token="YQ=="), NO_CONTEXT)


async def test_a_decision_on_appeal_is_whole(moderation: Moderation) -> None:
    await moderation.apply(await send(moderation, "A lamp"), BAD, request_id="callback-1")
    first = await appeal(moderation, KEY)
    before = moderation.clock.now()
    decision = await decide(moderation, first.appeal_id, "ann")
    assert (decision.maker, decision.reviewer, decision.automatic) == (DECISION_MAKER_REVIEWER, "ann", False)
    assert (decision.status, decision.rule, decision.rule_set) == (APPROVED, "a model", "")
    assert (decision.content_version, decision.applied, decision.request_id) == (1, True, "")
    assert decision.supersedes_id == first.decision.decision_id
    assert [verdict.name for verdict in decision.verdicts] == [BAD]
    for time in (decision.decide_time, decision.record_time):
        assert before - timedelta(seconds=60) < time.ToDatetime(UTC) < before + timedelta(seconds=60)
    assert (await moderation.subject(KEY)).status is Status.APPROVED
    told = [message.texts[0] for message in await outcomes(moderation)]
    assert [(text.status, text.decision_id) for text in told] == [
        (REFUSED, first.decision.decision_id),
        (APPROVED, decision.decision_id),
    ]
    [(value,)] = await moderation.rows(
        "SELECT value FROM outbox WHERE topic = 'moderation.events.v1' ORDER BY id DESC LIMIT 1"
    )
    assert ModerationEvent.FromString(value).value == decision


async def test_a_refusal_on_appeal_names_the_reviewers_rule(moderation: Moderation) -> None:
    await moderation.apply(await send(moderation, "A lamp"), BAD)
    await decide(moderation, (await appeal(moderation, KEY)).appeal_id, "ann", REFUSED, rule=BAD)
    assert (await moderation.subject(KEY)).status is Status.DISAPPROVED
    assert (await outcomes(moderation))[-1].texts[0].ban.rule == BAD


async def test_the_first_reviewer_is_refused(moderation: Moderation) -> None:
    decided = await refuse_on_appeal(moderation, "ann")
    second = await appeal(moderation, decided.key, reason="still not")
    assert second.decision.decision_id == decided.decision_id
    with pytest.raises(PermissionDenied, match="REVIEWER_DECIDED_BEFORE"):
        await decide(moderation, second.appeal_id, "ann")
    assert (await moderation.subject(decided.key)).status is Status.DISAPPROVED
    again = await decide(moderation, second.appeal_id, "ben", REFUSED)
    third = await appeal(moderation, decided.key, reason="please")
    for reviewer in ("ann", "ben"):  # all earlier reviewers, not only the last one
        with pytest.raises(PermissionDenied):
            await decide(moderation, third.appeal_id, reviewer)
    approved = await decide(moderation, third.appeal_id, "cleo")
    assert (approved.supersedes_id, again.supersedes_id) == (again.decision_id, decided.decision_id)
    assert (await moderation.subject(decided.key)).status is Status.APPROVED


async def test_a_reviewer_of_the_verdict_service_is_refused(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    item = {"name": BAD, "source": "people", "reviewers": ["team:ann", "ben"], "key": str(point_id)}
    [(key, found)] = parse_callback([item, {**item, "name": END}]).items()
    await moderation.record_verdicts([Arrived(key, found)])
    made = await appeal(moderation, str(point_id))
    assert list(made.decision.verdicts[0].reviewers) == ["team:ann", "ben"]
    for reviewer in ("ann", "team:ann", "ben", "team:ben"):
        with pytest.raises(PermissionDenied, match="REVIEWER_DECIDED_BEFORE"):
            await decide(moderation, made.appeal_id, reviewer)
    assert (await decide(moderation, made.appeal_id, "cleo")).status == APPROVED


async def test_whoever_has_a_token_decides_under_its_name(moderation: Moderation) -> None:
    await moderation.apply(await send(moderation, "A lamp"), BAD)
    made = await appeal(moderation, KEY)
    enter_call("/DecideAppeal", caller="team:ann", request_id="r", time_left_s=None)
    with pytest.raises(PermissionDenied, match="REVIEWER_OF_ANOTHER"):
        await decide(moderation, made.appeal_id, "ben")
    assert (await decide(moderation, made.appeal_id, "team:ann")).reviewer == "ann"


async def test_an_author_has_so_many_open_appeals(moderation: Moderation) -> None:
    keys = [str(await moderation.create_point(f"pothole {number}")) for number in range(MOST_OPEN + 2)]
    keys.append(str(await moderation.create_point("a hole", author="another")))
    for key in keys:
        await moderation.apply(key, BAD)
    await moderation.apply(await send(moderation, "A lamp"), BAD)
    # A seller and an author of points with the same id are different people.
    await moderation.rows("UPDATE subjects SET seller_id = 'author' WHERE kind = 'OFFER' RETURNING 1")
    await appeal(moderation, KEY, author="author")
    made = [await appeal(moderation, key) for key in keys[:MOST_OPEN]]
    with pytest.raises(ResourceExhausted, match="APPEALS_TOO_MANY"):
        await appeal(moderation, keys[-2])
    assert await appeal(moderation, keys[0]) == made[0]
    await appeal(moderation, keys[-1], author="another")
    assert len(await open_appeals(moderation)) == MOST_OPEN + 2
    await decide(moderation, made[0].appeal_id, "ann")
    await appeal(moderation, keys[-3])


async def test_only_the_author_or_the_seller_appeals(moderation: Moderation) -> None:
    point_id = await moderation.create_point(author="anna")
    await comment_point(
        moderation.database,
        moderation.store_texts,
        point_id=point_id,
        author=Author("ben", AuthorRole.USER),
        text="bad",
        request_id="r",
    )
    await send(moderation, "A lamp")
    for key, author in ((str(point_id), "anna"), (f"{point_id}/0", "ben"), (KEY, "seller")):
        sent_key = await send(moderation, "A lamp") if key == KEY else key
        await moderation.apply(sent_key, BAD)
        for stranger in {"anna", "ben", "seller", "Anna", "stranger"} - {author}:
            with pytest.raises(PermissionDenied, match="APPEAL_OF_ANOTHER"):
                await appeal(moderation, key, author=stranger)
        assert (await appeal(moderation, key, author=author)).author_id == author
    assert len(await open_appeals(moderation)) == 3


async def test_an_appeal_that_an_earlier_version_took_from_a_stranger_becomes_the_authors(
    moderation: Moderation,
) -> None:
    point_id = await moderation.create_point()
    await moderation.apply(point_id, BAD)
    await moderation.rows(
        "INSERT INTO appeals (subject_key, decision_id, author_id, reason)"
        " SELECT subject_key, decision_id, 'stranger', 'mine' FROM subjects RETURNING 1"
    )
    made = await appeal(moderation, str(point_id), reason="It is a hole.")
    assert (made.author_id, made.reason) == ("author", "It is a hole.")
    assert await open_appeals(moderation) == [made.appeal_id]


async def test_nobody_decides_about_their_own_review_or_appeal(moderation: Moderation) -> None:
    """Regardless of the spelling of their name, stored or sent."""
    decided = await refuse_on_appeal(moderation, "team:Ann")
    item = {"name": BAD, "source": "people", "reviewers": ["team:BEN", "Cleo"], "key": decided.key}
    [(_, found)] = parse_callback([item, {**item, "name": END}]).items()
    # An earlier version stored the name like this.
    await moderation.rows(
        "UPDATE decisions SET reviewer = 'Ann', verdicts = %s WHERE reviewer = 'ann' RETURNING 1",
        json.dumps(to_json(found.verdicts)),
    )
    second = await appeal(moderation, decided.key, reason="still not")
    for name in ("ann", "ben", "cleo"):
        for spelling in (name, name.upper(), f"team:{name}", f" {name.title()} ", f"TEAM:{name.title()}"):
            with pytest.raises(PermissionDenied, match="REVIEWER_DECIDED_BEFORE"):
                await decide(moderation, second.appeal_id, spelling)
    for spelling in ("author", "AUTHOR", "team:author"):
        with pytest.raises(PermissionDenied, match="REVIEWER_IS_AUTHOR"):
            await decide(moderation, second.appeal_id, spelling)
    with pytest.raises(InvalidArgument, match="REVIEWER_INVALID"):
        await decide(moderation, second.appeal_id, "team: ")
    first = await decide(moderation, second.appeal_id, "Dan")
    assert await decide(moderation, second.appeal_id, "team:DAN") == first


async def test_an_author_reads_what_became_of_an_appeal(moderation: Moderation) -> None:
    async def read(appeal_id: int) -> tuple[str, str]:
        found = await appeals_of(moderation).GetAppeal(GetAppealRequest(appeal_id=appeal_id), NO_CONTEXT)
        return AppealState.Name(found.state).removeprefix("APPEAL_STATE_"), found.response

    await moderation.apply(await send(moderation, "A lamp"), BAD)
    made = await appeal(moderation, KEY)
    assert (made.state, made.response) == (APPEAL_STATE_OPEN, "The appeal waits for a reviewer.")
    assert await read(made.appeal_id) == ("OPEN", made.response)
    await decide(moderation, made.appeal_id, "ann", REFUSED, rule="no insults")
    assert await read(made.appeal_id) == (
        "REFUSED",
        "The appeal was refused: the text stays hidden. Rule: no insults. Change the text of the offer: a changed text "
        "is judged again.",
    )
    second = await appeal(moderation, KEY)
    request = DecideAppealRequest(
        appeal_id=second.appeal_id, status=APPROVED, reviewer="ben", rule="a model", response="We were wrong."
    )
    await appeals_of(moderation).DecideAppeal(request, NO_CONTEXT)
    assert await read(second.appeal_id) == (
        "GRANTED",
        "The appeal was granted: the text is approved. We were wrong.",
    )
    point_id = await moderation.create_point()
    await moderation.apply(point_id, BAD)
    third = await appeal(moderation, str(point_id))
    await moderation.rows("UPDATE subjects SET status = 'PENDING', next_retry = now() WHERE kind = 'POINT' RETURNING 1")
    assert (await read(third.appeal_id))[0] == "OBSOLETE"
    with pytest.raises(NotFound, match="APPEAL_NOT_FOUND"):
        await read(99)


async def test_the_same_decision_again_returns_it(moderation: Moderation) -> None:
    await moderation.apply(await send(moderation, "A lamp"), BAD)
    made = await appeal(moderation, KEY)
    decision = await decide(moderation, made.appeal_id, "ann")
    assert await decide(moderation, made.appeal_id, "ann") == decision
    for reviewer, status in (("ann", REFUSED), ("ben", APPROVED)):
        with pytest.raises(FailedPrecondition, match="APPEAL_ENDED"):
            await decide(moderation, made.appeal_id, reviewer, status)
    assert await moderation.rows("SELECT count(*) FROM decisions") == [(2,)]


async def test_two_reviewers_at_once_make_one_decision(moderation: Moderation) -> None:
    await moderation.apply(await send(moderation, "A lamp"), BAD)
    made = await appeal(moderation, KEY)
    found = await asyncio.gather(
        *(decide(moderation, made.appeal_id, reviewer) for reviewer in ("ann", "ben")), return_exceptions=True
    )
    assert sorted(type(each).__name__ for each in found) == ["Decision", "FailedPrecondition"]


async def edit(moderation: Moderation) -> None:
    await send(moderation, "another text", version=2)


async def recheck(moderation: Moderation) -> None:
    await moderation.apply(KEY, "text_auto_obscene")


async def edit_and_judge(moderation: Moderation) -> None:
    await moderation.apply(await send(moderation, "another text", version=2), "text_auto_threat")


@pytest.mark.parametrize("change", [edit, recheck, edit_and_judge])
async def test_an_appeal_about_a_text_that_changed_since_decides_nothing(
    moderation: Moderation, change: Callable[[Moderation], Awaitable[None]]
) -> None:
    """Fails if only the decision's number is compared: an edited text waits under the number of the old one."""
    await moderation.apply(await send(moderation, "A lamp"), BAD)
    made = await appeal(moderation, KEY)
    await change(moderation)
    before = await moderation.subject(KEY)
    assert await open_appeals(moderation) == []
    with pytest.raises(FailedPrecondition, match="APPEAL_ENDED"):
        await decide(moderation, made.appeal_id, "ann")
    assert await moderation.subject(KEY) == before


async def test_only_refused_texts_can_be_appealed_about(moderation: Moderation) -> None:
    with pytest.raises(NotFound):
        await appeal(moderation, "unknown")
    with pytest.raises(NotFound):
        await decide(moderation, 5, "ann")
    point_id = await moderation.create_point()
    for _ in range(2):
        with pytest.raises(FailedPrecondition, match="TEXT_NOT_REFUSED"):
            await appeal(moderation, str(point_id))
        await moderation.apply(point_id)


async def test_verdicts_after_a_reviewers_decision_are_kept_and_not_applied(moderation: Moderation) -> None:
    await moderation.apply(await send(moderation, "A lamp"), BAD)
    decision = await decide(moderation, (await appeal(moderation, KEY)).appeal_id, "ann")
    await moderation.apply(await send(moderation, "A lamp"), "text_auto_threat")
    subject = await moderation.subject(KEY)
    assert (subject.status, subject.decision_id) == (Status.APPROVED, decision.decision_id)
    rows = await moderation.rows("SELECT not_applied_reason FROM decisions ORDER BY decision_id")
    assert [reason for (reason,) in rows] == ["", "", "REVIEWED"]
