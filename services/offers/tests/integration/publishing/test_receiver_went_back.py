"""Receiver or offers restored from a backup: the published documents match the table of offers again without action."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from classifeed_common.db import fetch_as
from classifeed_common.errors import FailedPrecondition
from classifeed_devkit.testing.databases import DatabaseServer, TableBackup
from classifeed_domain.publishing import PushedDocuments, ReceiverClient, publisher, put_schema
from classifeed_offers.domain.documents import DueOffer, schema
from classifeed_offers.metrics import RAISED
from classifeed_offers.store import publishing, republishing
from classifeed_offers.store.republishing import Scope

from .conftest import REGISTRY_TABLES, Scene

OFFERS_TABLES = ("offers", "published_positions", "republications")


class Positionless(ReceiverClient):
    """The naive implementation: pushes without the positions that were acknowledged before."""

    async def push(self, documents: Any, known: Any, traces: Any = ()) -> PushedDocuments:
        return await super().push(documents, {})

    async def check_positions(self, known: Any) -> dict[int, int]:
        return dict(known)


@pytest.mark.parametrize("noticed_by", ["the next push", "the check of an idle pusher"])
@pytest.mark.parametrize("way", ["with known positions", "without"])
async def test_all_offers_are_pushed_again_after_the_receiver_lost_some(
    scene: Scene, noticed_by: str, way: str
) -> None:
    if way == "without":
        scene.receiver.__class__ = Positionless
    publishing = scene.publishing()
    await scene.load([scene.good(f"{n}") for n in range(250)])
    await publishing.settle()
    backup = TableBackup(scene.registry.database, *REGISTRY_TABLES)
    await backup.take()
    # Some offers are new, some changed, some gone since the backup.
    await scene.load([scene.good(f"{n}", price=70) for n in range(100, 300)], 2)
    await publishing.settle()
    assert await scene.is_equal()
    await backup.restore()
    assert not await scene.is_equal()
    if noticed_by == "the next push":
        patched = [scene.good(f"{n}", price=90 if n == 150 else 70) for n in range(100, 300)]
        await scene.load(patched, 3)
    async with publishing.running():
        await asyncio.sleep(0.5)  # the naive implementation has no event to wait for
        await publishing.until(publishing.is_settled)
        if way == "with known positions":
            await publishing.until(scene.is_equal)
    assert await scene.is_equal() == (way == "with known positions")
    if way == "with known positions":
        [(reason, offers)] = await publishing.fetch("SELECT reason, offers FROM republications")
        assert (reason, offers) == ("the receiver's database was restored from an older backup", 300)


@pytest.mark.parametrize("backup_of", ["before anything", "some offers"])
async def test_whole_database_of_the_receiver_is_restored(
    scene: Scene, database_server: DatabaseServer, backup_of: str
) -> None:
    """Under a running receiver, from before everything: its schemas are gone, too."""
    async with scene.registry.database.transaction() as tx:
        await tx.execute(f"TRUNCATE {', '.join(REGISTRY_TABLES)}")
    backup = database_server.back_up(scene.registry.database.dsn)
    publishing = scene.publishing()
    await put_schema(scene.receiver, schema(), asyncio.Event(), lambda fault: None)
    await scene.load([scene.good(f"{n}") for n in range(150)])
    await publishing.settle()
    if backup_of == "some offers":
        backup = database_server.back_up(scene.registry.database.dsn)
    await scene.load([scene.good(f"{n}", price=70) for n in range(50, 200)], 2)
    async with publishing.running():
        await publishing.until(publishing.is_settled)
        await asyncio.to_thread(database_server.restore, scene.registry.database.dsn, backup)
        await publishing.until(passing(scene.is_equal))


def passing(condition: Callable[[], Awaitable[bool]]) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        try:
            return await condition()
        except Exception:  # noqa: BLE001 - its connections end with the database
            return False

    return holds


async def test_one_loss_is_one_republication(scene: Scene) -> None:
    """Two processes push and both notice, one begins, and pushes meanwhile are accepted."""
    first, second = scene.publishing(), scene.publishing()
    await scene.load([scene.good(f"{n}") for n in range(50)])
    await first.settle()
    backup = TableBackup(scene.registry.database, *REGISTRY_TABLES)
    await backup.take()
    await scene.load([scene.good(f"{n}", price=70) for n in range(50)], 2)
    await first.settle()
    await backup.restore()
    told = await asyncio.gather(first.publish_offers.check(), second.publish_offers.check(), return_exceptions=True)
    assert any(isinstance(error, FailedPrecondition) for error in told)
    assert await first.fetch("SELECT count(*) FROM republications") == [(1,)]
    await first.settle()
    assert await scene.is_equal()
    await first.publish_offers.check()
    assert await first.fetch("SELECT count(*) FROM republications") == [(1,)]


@pytest.mark.parametrize("way", ["the push is fenced off", "marks are only set back"])
async def test_batch_acknowledged_before_the_loss_marks_nothing_after_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The receiver is restored while a response is on its way, and an operator requests everything at that moment."""
    scene.receiver.__class__ = Positionless  # so that only the restart prevents the loss
    publishing = scene.publishing()
    if way == "marks are only set back":
        monkeypatch.setattr(publishing.republisher, "_restart", nothing_restarted)
    await scene.load([scene.good(f"{n}") for n in range(50)])
    await publishing.settle()
    backup = TableBackup(scene.registry.database, *REGISTRY_TABLES)
    await backup.take()
    await scene.load([scene.good(f"{n}", price=70) for n in range(50)], 2)
    push = publishing.publish_offers
    lost = asyncio.Event()

    async def push_and_lose(rows: Any) -> list[bool]:
        taken = await push(rows)
        if not lost.is_set():
            lost.set()
            await backup.restore()
            await publishing.republisher.request(Scope(), None)
            stop = asyncio.Event()
            working = asyncio.create_task(publishing.new_worker().run(stop))
            await publishing.until(all_marked)
            stop.set()
            await working
        return taken

    async def all_marked() -> bool:
        return await publishing.fetch("SELECT count(*) FROM republications WHERE marked_at IS NOT NULL") == [(1,)]

    publishing.pusher._push = push_and_lose
    async with publishing.running(worker=False):
        async with asyncio.timeout(60):
            await lost.wait()
        await publishing.until(publishing.is_settled)
    assert await scene.is_equal() == (way == "the push is fenced off")


async def nothing_restarted(tx: Any) -> None:
    return


@pytest.mark.parametrize("way", ["versions are raised", "stale counts as published"])
async def test_offers_that_went_back_are_the_truth(scene: Scene, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """The table of offers is restored, and there is no new load: the search must match the table."""
    monkeypatch.setattr(publisher, "_AHEAD_FOR_S", 0.1)
    if way == "stale counts as published":
        monkeypatch.setattr(publishing, "raise_versions", nothing_raised)
    publication = scene.publishing()
    await scene.load([scene.good(f"{n}") for n in range(150)])
    await publication.settle()
    backup = TableBackup(scene.database, *OFFERS_TABLES)
    await backup.take()
    await scene.load([scene.good(f"{n}", price=70) for n in range(50, 150)], 2)
    await publication.settle()
    async with scene.database.transaction() as tx:
        await tx.execute("ALTER TABLE offers ALTER offer_id SET GENERATED BY DEFAULT")
        await tx.execute("ALTER TABLE republications ALTER republication_id SET GENERATED BY DEFAULT")
        await tx.execute("ALTER TABLE refused_documents DROP CONSTRAINT refused_documents_offer_id_fkey")
    await backup.restore()
    raised = RAISED._value.get()
    async with publication.running():

        async def has_begun() -> bool:
            return await publication.fetch("SELECT count(*) FROM republications") == [(1,)]

        await publication.until(has_begun)
        await publication.until(publication.is_settled)
        pushed = await publication.fetch("SELECT max(version) FROM offers")
        await asyncio.sleep(0.5)
        assert await publication.fetch("SELECT max(version) FROM offers") == pushed, "raising versions came to an end"
    found = await scene.documents()
    assert (found == await scene.offers()) == (way == "versions are raised")
    if way == "versions are raised":
        assert RAISED._value.get() - raised == 150
        assert await publication.fetch("SELECT reason FROM republications") == [
            ("the database of offers was restored from an older backup",)
        ]


async def nothing_raised(tx: Any, overtaken: Any) -> int:
    return 0


async def test_version_of_a_receiver_in_the_future_is_passed_in_one_step(scene: Scene) -> None:
    """By the clock alone, it would be pushed, found stale and raised for ever."""
    publishing = scene.publishing()
    await scene.load([scene.good("a")])
    await publishing.settle()
    future = 4_000_000_000_000_000
    async with scene.registry.database.transaction() as tx:
        await tx.execute("UPDATE documents SET version = %s", [future])
    await scene.load([scene.good("a", price=70)], 2)
    await publishing.settle()
    assert await scene.documents() == await scene.offers() == {"a": future + 1}


async def test_stale_push_of_an_offer_that_changed_meanwhile_raises_nothing(scene: Scene) -> None:
    publishing = scene.publishing()
    await scene.load([scene.good("a")])
    async with scene.database.transaction() as tx:
        old = await fetch_as(tx, DueOffer, publishing_module.SELECT_DUE, {"limit": 10, "above": 0})
    await scene.load([scene.good("a", price=70)], 2)
    await publishing.settle()
    version = await scene.offers()
    assert await publishing.publish_offers(old) == [True]
    async with scene.database.transaction() as tx:
        await publishing.publish_offers.record(tx)
    assert await scene.offers() == version


publishing_module = publishing


async def test_offers_that_a_load_holds_are_marked_when_it_lets_go(scene: Scene) -> None:
    """If they were skipped and not requested again, they would stay lost at the receiver: the load rolls back."""
    publishing = scene.publishing(slice_offers=20)
    await scene.load([scene.good(f"{n:03}") for n in range(100)])
    await publishing.settle()
    async with scene.registry.database.transaction() as tx:
        await tx.execute("DELETE FROM documents")
    holding = asyncio.Event()
    release = asyncio.Event()

    async def load_that_fails() -> None:
        async with scene.database.transaction() as tx:
            await tx.execute("UPDATE offers SET version = version + 1 WHERE external_id IN ('013', '050', '099')")
            holding.set()
            await release.wait()
            raise KeyError("the load rolls back")

    failing = asyncio.create_task(load_that_fails())
    await holding.wait()
    await publishing.republisher.request(Scope(), None)
    async with publishing.running():

        async def others_are_there() -> bool:
            return len(await scene.documents()) == 97

        await publishing.until(others_are_there)
        release.set()
        with pytest.raises(KeyError):
            await failing
        await publishing.until(publishing.is_settled)
    assert await scene.is_equal()
    assert await publishing.fetch("SELECT offers FROM republications") == [(100,)]


async def test_republication_of_a_scope_touches_nothing_else(scene: Scene) -> None:
    publishing = scene.publishing(slice_offers=2)
    for seller, namespace in (("a", "x"), ("b", "x"), ("b", "y"), ("c", "x")):
        names = [scene.good(f"{seller}{namespace}{n}") for n in range(5)]
        await scene.load(names, seller=seller, namespace=namespace, batch_size=10)
    await publishing.settle()
    for scope, count in ((Scope("b"), 10), (Scope("b", "x"), 5), (Scope("nobody"), 0), (Scope(), 20)):
        async with scene.registry.database.transaction() as tx:
            await tx.execute("DELETE FROM documents")
        number = await publishing.republisher.request(scope, f"{scope}")
        assert number is not None
        assert await publishing.republisher.request(scope, f"{scope}") is None, "a repeated request begins nothing"
        await publishing.settle()
        assert len(await scene.documents()) == count
    async with scene.database.transaction() as tx:
        assert await republishing.list_open(tx) == []


async def test_what_is_under_way_is_named_until_all_is_pushed(scene: Scene) -> None:
    publishing = scene.publishing()
    await scene.load([scene.good(f"{n}") for n in range(30)])
    await publishing.settle()
    await publishing.republisher.request(Scope(), None)
    await publishing.watch.poll()
    [line] = publishing.watch.blocked().values()
    assert line.startswith("all offers are being pushed to the search again, as requested by an operator: 0 of them")
    stop = asyncio.Event()
    working = asyncio.create_task(publishing.new_worker().run(stop))

    async def is_marked() -> bool:
        await publishing.watch.poll()
        return any("30 were marked" in line for line in publishing.watch.blocked().values())

    await publishing.until(is_marked)
    stop.set()
    await working
    assert await publishing.watch.backlog() == 1
    await publishing.settle()
    assert await publishing.watch.backlog() == 0


async def test_refused_offers_are_kept_until_they_are_taken(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene.registry.push_documents, "_limit_bytes", 3000)
    publication = scene.publishing()
    await scene.load([scene.good("good"), scene.good("big", title="диван " * 1000)])
    await publication.settle()
    async with scene.database.connection() as connection:
        [refused] = await publishing.list_refused(connection, 10)
    assert refused.external_id == "big"
    assert "at most 3000 are allowed" in refused.reasons
    await scene.load([scene.good("good"), scene.good("big", title="диван")], 2)
    await publication.settle()
    async with scene.database.connection() as connection:
        assert await publishing.list_refused(connection, 10) == []
