"""Approved points in the search: pushes, and recovery after either side has lost data."""

from __future__ import annotations

import pytest

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed_devkit.testing.databases import TableBackup
from classifeed_devkit.testing.recovery import until
from classifeed_domain.document_bodies import BodyCodec
from classifeed_moderation.app.points.comment_point import comment_point
from classifeed_moderation.app.points.maintain_publication import PointPublication
from classifeed_moderation.app.points.remove_point import remove_point
from classifeed_moderation.app.points.vote_point import vote_point
from classifeed_moderation.domain.documents import schema
from classifeed_moderation.domain.points import Author, AuthorRole
from classifeed_moderation.domain.subjects import Status, comment_key

from ...conftest import Moderation
from .conftest import FakeReceiver, published


async def is_idle(publication: PointPublication) -> bool:
    return await publication.backlog() == {"points_unpublished": 0}


CODEC = BodyCodec(schema())


def values_of(document: RawDocument) -> dict[str, list[object]]:
    fields = CODEC.fields_of(document.body)
    return {each.name: [getattr(value, value.WhichOneof("kind")) for value in each.values] for each in fields}


async def test_only_approved_points_are_shown_and_as_they_are_now(
    moderation: Moderation, receiver: FakeReceiver
) -> None:
    waiting = await moderation.create_point("waits")
    good = await moderation.create_point("яма на дороге", tags=("other",))
    bad = await moderation.create_point("bad words")
    trusted = await moderation.create_point("closed till May", role=AuthorRole.EXPERT)
    await moderation.apply(good, "police")
    await moderation.apply(bad, "text_auto_obscene")
    async with published(moderation, receiver) as publication:
        await until(lambda: is_idle(publication))
        assert receiver.schemas == [schema()]
        assert set(receiver.shown()) == {str(good), str(trusted)}
        assert str(waiting) not in receiver.documents
        await vote_point(moderation.database, point_id=good, author_id="voter", is_for=True)
        await until(lambda: is_idle(publication))
        values = values_of(receiver.shown()[str(good)])
        assert values["description"] == ["яма на дороге"]
        assert (values["tags"], values["votes_for"]) == (["police", "speed_control"], [1])
        assert values["author_role"] == ["user"]
        await remove_point(moderation.database, moderation.clock, point_id=good)
        await until(lambda: is_idle(publication))
        assert set(receiver.shown()) == {str(trusted)}


async def test_votes_about_a_waiting_point_show_nothing_of_it(moderation: Moderation, receiver: FakeReceiver) -> None:
    waiting = await moderation.create_point("waits")
    await vote_point(moderation.database, point_id=waiting, author_id="voter", is_for=True)
    async with published(moderation, receiver) as publication:
        await until(lambda: is_idle(publication))
        assert receiver.shown() == {}


async def test_receiver_that_went_back_gets_all_points_once_more(
    moderation: Moderation, receiver: FakeReceiver
) -> None:
    shown = [await moderation.create_point("closed", role=AuthorRole.EXPERT) for _ in range(5)]
    bad = await moderation.create_point("bad words")
    async with published(moderation, receiver) as publication:
        await until(lambda: is_idle(publication))
        backup, end = dict(receiver.documents), receiver.end
        await moderation.apply(bad, "text_auto_obscene")
        await remove_point(moderation.database, moderation.clock, point_id=shown[0])
        await until(lambda: is_idle(publication))
        receiver.documents, receiver.end = backup, end  # removed points are shown again
        assert str(shown[0]) in receiver.shown()
        more = await moderation.create_point("closed too", role=AuthorRole.EXPERT)
        await until(lambda: str(more) in receiver.shown() and str(shown[0]) not in receiver.shown())
        await until(lambda: is_idle(publication))
        assert set(receiver.shown()) == {*map(str, shown[1:]), str(more)}


async def test_versions_rise_above_what_the_receiver_has(moderation: Moderation, receiver: FakeReceiver) -> None:
    point_id = await moderation.create_point("closed", role=AuthorRole.EXPERT)
    async with published(moderation, receiver) as publication:
        await until(lambda: is_idle(publication))
        await moderation.rows("UPDATE points SET version = 5, published_version = 0 RETURNING 1")
        await vote_point(moderation.database, point_id=point_id, author_id="voter", is_for=False)
        await moderation.rows("UPDATE points SET version = 7, published_version = 0 RETURNING 1")
        publication.wake()
        await until(lambda: values_of(receiver.documents[str(point_id)])["votes_against"] == [1])


@pytest.mark.parametrize(
    "tables", [("points", "comments", "votes"), ("points", "comments", "votes", "subjects", "decisions")]
)
async def test_documents_of_points_that_a_restored_table_lost_are_withdrawn(
    moderation: Moderation, receiver: FakeReceiver, tables: tuple[str, ...]
) -> None:
    """Some points are new, some removed, some have votes since the backup; the receiver's positions stay."""
    kept = [await moderation.create_point("closed", role=AuthorRole.EXPERT) for _ in range(3)]
    async with published(moderation, receiver) as publication:
        await until(lambda: is_idle(publication))
        backup = TableBackup(moderation.database, *tables)
        await backup.take()
        await remove_point(moderation.database, moderation.clock, point_id=kept[0])
        await vote_point(moderation.database, point_id=kept[1], author_id="voter", is_for=True)
        lost = await moderation.create_point("closed since", role=AuthorRole.EXPERT)
        await until(lambda: set(receiver.shown()) == {str(kept[1]), str(kept[2]), str(lost)})
    await backup.restore()
    async with published(moderation, receiver) as publication:
        await until(lambda: set(receiver.shown()) == set(map(str, kept)))
        await until(lambda: is_idle(publication))
        assert values_of(receiver.shown()[str(kept[1])])["votes_for"] == [0]


async def test_a_point_whose_text_went_back_is_shown_as_its_text_says(
    moderation: Moderation, receiver: FakeReceiver
) -> None:
    """Only the texts were restored: one text has lost its approval, one its refusal, and one is missing."""
    approved, refused = await moderation.create_point("one"), await moderation.create_point("two")
    async with published(moderation, receiver) as publication:
        await moderation.apply(refused)
        publication.wake()
        await until(lambda: set(receiver.shown()) == {str(refused)})
        backup = TableBackup(moderation.database, "subjects", "decisions")
        await backup.take()
        await moderation.apply(approved)
        await moderation.apply(refused, "text_auto_obscene")
        lost = await moderation.create_point("closed since", role=AuthorRole.EXPERT)
        publication.wake()
        await until(lambda: set(receiver.shown()) == {str(approved), str(lost)})
    await backup.restore()
    async with published(moderation, receiver):
        await until(lambda: set(receiver.shown()) == {str(refused)})


async def test_points_without_texts_are_named_until_their_authors_create_them_again(
    moderation: Moderation, receiver: FakeReceiver
) -> None:
    """Only the texts were restored: points created since the backup cannot be shown."""
    async with published(moderation, receiver) as publication:
        backup = TableBackup(moderation.database, "subjects", "decisions")
        await backup.take()
        point_id = await moderation.create_point("closed", role=AuthorRole.EXPERT)
        await until(lambda: set(receiver.shown()) == {str(point_id)})
        await backup.restore()
        await until(lambda: receiver.shown() == {})
        await until(lambda: "texts" in publication.blocked())
        named = publication.blocked()["texts"]
        assert named.startswith(f"Points and comments without a text: 1, one of them is at points/{point_id}.")
        await moderation.create_point("closed", role=AuthorRole.EXPERT, point_id=point_id)
        publication.wake()
        await until(lambda: set(receiver.shown()) == {str(point_id)})
        await until(lambda: "texts" not in publication.blocked())


async def test_a_point_created_again_has_its_own_text_and_waits_for_a_verdict(moderation: Moderation) -> None:
    """Only points, comments and votes were restored: their texts are still there, approved."""
    backup = TableBackup(moderation.database, "points", "comments", "votes")
    await backup.take()
    point_id = await moderation.create_point("harmless")
    await moderation.apply(point_id)
    assert (await moderation.subject(point_id)).status is Status.APPROVED
    await backup.restore()
    await moderation.create_point("something else", point_id=point_id)
    subject = await moderation.subject(point_id)
    assert (subject.text, subject.status) == ("something else", Status.PENDING)


async def test_a_comment_does_not_take_the_key_of_a_lost_one(moderation: Moderation) -> None:
    """A verdict about the lost comment may still arrive, and must not decide about another text."""
    point_id = await moderation.create_point("closed", role=AuthorRole.EXPERT)
    backup = TableBackup(moderation.database, "points", "comments", "votes")
    await backup.take()

    async def comment(text: str) -> int:
        return await comment_point(
            moderation.database,
            moderation.store_texts,
            point_id=point_id,
            author=Author("author", AuthorRole.USER),
            text=text,
            request_id=text,
        )

    assert [await comment(text) for text in ("one", "two")] == [0, 1]
    await moderation.apply(comment_key(point_id, 1))
    await backup.restore()
    assert [await comment(text) for text in ("three", "four")] == [2, 3]
    assert (await moderation.subject(comment_key(point_id, 2))).status is Status.PENDING
    assert await moderation.rows("SELECT comments FROM points") == [(4,)]
