"""Storing texts: no caller waits for the verdict service, and some texts need no verdict."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest

from classifeed_common.errors import AlreadyExists
from classifeed_devkit.testing.recovery import until
from classifeed_moderation.app.points.comment_point import comment_point
from classifeed_moderation.domain.points import Author, AuthorRole
from classifeed_moderation.domain.subjects import Kind, Status
from classifeed_moderation.metrics import DROPPED

from ...conftest import RETRY_S, MakeModeration, Moderation


async def test_point_is_stored_while_the_verdict_service_hangs(moderation: Moderation) -> None:
    moderation.stand_in.released.clear()
    moderation.start()
    first = await moderation.create_point("one")
    await moderation.stand_in.arrived.wait()
    async with asyncio.timeout(10):
        point_id = await moderation.create_point("two")
    for key in (first, point_id):
        subject = await moderation.subject(key)
        assert (subject.status, subject.verdicts) == (Status.PENDING, ())
        assert subject.next_retry is not None
        assert (subject.next_retry - subject.started).total_seconds() == pytest.approx(RETRY_S, abs=0.1)


async def test_full_queue_drops_and_counts(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(queue_size=2)
    before = DROPPED.labels("point")._value.get()
    keys = [await moderation.create_point(f"text {number}") for number in range(5)]
    assert sum(moderation.queue.lengths().values()) == 2
    assert DROPPED.labels("point")._value.get() - before == 3
    assert {(await moderation.subject(key)).status for key in keys} == {Status.PENDING}


@pytest.mark.parametrize(
    ("description", "tags", "role", "rule"),
    [
        ("", ("other",), AuthorRole.USER, "empty_text"),
        ("  \n", ("other",), AuthorRole.USER, "empty_text"),
        ("левый ряд, правый ряд", ("accident",), AuthorRole.USER, "lanes_only"),
        ("Left lane,  right  lane", ("reconstruction",), AuthorRole.USER, "lanes_only"),
        ("anything", ("other",), AuthorRole.PARTNER, "trusted_author"),
        ("anything", ("other",), AuthorRole.MODERATOR, "trusted_author"),
        ("anything", ("other",), AuthorRole.EXPERT, "trusted_author"),
    ],
)
async def test_some_texts_need_no_request(
    moderation: Moderation, description: str, tags: tuple[str, ...], role: AuthorRole, rule: str
) -> None:
    point_id = await moderation.create_point(description, tags=tags, role=role)
    subject = await moderation.subject(point_id)
    assert (subject.status, subject.verdicts, subject.next_retry) == (Status.APPROVED, (), None)
    assert sum(moderation.queue.lengths().values()) == 0
    assert await moderation.rows("SELECT rule, maker, is_applied FROM decisions") == [(rule, "EXEMPTION", True)]
    assert await moderation.rows("SELECT count(*) FROM outbox WHERE topic = 'moderation.events.v1'") == [(1,)]


@pytest.mark.parametrize(
    ("description", "tags"),
    [("левый ряд", ("police",)), ("левый ряд, дураки", ("accident",)), ("левый ряд правый ряд", ("accident",))],
)
async def test_others_are_judged(moderation: Moderation, description: str, tags: tuple[str, ...]) -> None:
    point_id = await moderation.create_point(description, tags=tags)
    assert (await moderation.subject(point_id)).status is Status.PENDING


async def test_the_same_point_again_changes_nothing(moderation: Moderation) -> None:
    point_id = await moderation.create_point("text")
    await moderation.create_point("text", point_id=point_id)
    assert moderation.queue.lengths()[Kind.POINT] == 1
    with pytest.raises(AlreadyExists):
        await moderation.create_point("another text", point_id=point_id)


async def test_comment_is_judged_in_the_regions_of_its_point(moderation: Moderation) -> None:
    moderation.start()
    point_id = await moderation.create_point("text", regions=(5, 6))
    author = Author("somebody", AuthorRole.MODERATOR)
    for request_id in ("a", "a", "b"):
        await comment_point(
            moderation.database,
            moderation.store_texts,
            point_id=point_id,
            author=author,
            text="hm",
            request_id=request_id,
        )
    await until(lambda: len(moderation.stand_in.requests) == 3)
    sent = {request.params["key"]: request.params["body"]["regions"] for request in moderation.stand_in.requests}
    assert sent == {str(point_id): [5, 6], f"{point_id}/0": [5, 6], f"{point_id}/1": [5, 6]}


async def test_unknown_point_has_no_comments(moderation: Moderation) -> None:
    with pytest.raises(Exception, match="POINT_NOT_FOUND"):
        await comment_point(
            moderation.database,
            moderation.store_texts,
            point_id=uuid4(),
            author=Author("somebody", AuthorRole.USER),
            text="hm",
            request_id="a",
        )
