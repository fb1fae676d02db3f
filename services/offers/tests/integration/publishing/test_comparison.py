"""The table of offers is restored: documents of lost offers leave the registry, and the others match it again."""

from __future__ import annotations

import pytest

from classifeed_common.telemetry.metrics import REPAIRED_DOCUMENTS
from classifeed_devkit.testing.databases import TableBackup

from .conftest import Scene

WITHDRAWN = REPAIRED_DOCUMENTS.labels("offers", "withdrawn")


async def put_back(scene: Scene, backup: TableBackup) -> None:
    """Restore a table whose rows another table references."""
    async with scene.database.transaction() as tx:
        await tx.execute("ALTER TABLE refused_documents DROP CONSTRAINT refused_documents_offer_id_fkey")
    await backup.restore()


@pytest.mark.parametrize("tables", [("offers",), ("offers", "published_positions")])
async def test_documents_equal_a_table_that_was_restored(scene: Scene, tables: tuple[str, ...]) -> None:
    """Some offers are new, some changed, some removed since the backup; there is no new load."""
    publishing = scene.publishing()
    await scene.load([scene.good(f"{n}") for n in range(60)])
    await publishing.settle()
    kept = await scene.offers()
    backup = TableBackup(scene.database, *tables)
    await backup.take()
    await scene.load([scene.good(f"{n}", price=70) for n in range(30, 90)], 2)
    await publishing.settle()
    await put_back(scene, backup)
    assert (await scene.offers()).keys() == kept.keys()
    assert (await scene.documents()).keys() != kept.keys()
    async with publishing.running(comparison=True):
        await publishing.until(scene.is_equal)
        await publishing.until(publishing.is_settled)
    assert (await scene.documents()).keys() == kept.keys()


async def test_lost_offers_are_not_withdrawn_while_requests_can_bring_them_back(scene: Scene) -> None:
    publishing = scene.publishing()
    await scene.load([scene.good("kept"), scene.good("changed")])
    await publishing.settle()
    backup = TableBackup(scene.database, "offers")
    await backup.take()
    await scene.load([scene.good("kept"), scene.good("changed", price=70), scene.good("lost")], 2)
    await publishing.settle()
    await put_back(scene, backup)
    publishing.may_withdraw = False
    withdrawn = WITHDRAWN._value.get()
    async with publishing.running(comparison=True):

        async def is_changed_back() -> bool:
            return (await scene.documents())["changed"] == (await scene.offers())["changed"]

        await publishing.until(is_changed_back)
        assert "lost" in await scene.documents()
        publishing.may_withdraw = True
        await publishing.until(scene.is_equal)
    assert WITHDRAWN._value.get() == withdrawn + 1


async def test_a_late_withdrawal_does_not_hide_an_offer_that_came_back(scene: Scene) -> None:
    """The process pauses after it has found the offer lost, and a load brings the offer back."""
    publishing = scene.publishing()
    await scene.load([scene.good("a"), scene.good("lost")])
    await publishing.settle()
    listed, _ = await scene.receiver.list_documents("", 10)
    async with scene.database.transaction() as tx:
        await tx.execute("DELETE FROM offers WHERE external_id = 'lost'")
    await scene.load([scene.good("a"), scene.good("lost", price=70)], 2)
    await publishing.settle()
    await publishing.comparison._withdraw([each for each in listed if each.pk.endswith("lost")])
    assert await scene.is_equal()
    assert "lost" in await scene.documents()


async def test_loads_beside_a_comparison_lose_nothing(scene: Scene) -> None:
    publishing = scene.publishing()
    withdrawn = WITHDRAWN._value.get()
    async with publishing.running(comparison=True):
        for revision in range(1, 9):
            offers = [scene.good(f"{n}", price=revision) for n in range(revision * 10, revision * 10 + 40)]
            await scene.load(offers, revision, batch_size=20)
        await publishing.until(scene.is_equal)
        await publishing.until(publishing.is_settled)
    assert await scene.is_equal()
    assert WITHDRAWN._value.get() == withdrawn


async def test_an_offer_that_the_receiver_refuses_is_not_pushed_again_and_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene.registry.push_documents, "_limit_bytes", 3000)
    publishing = scene.publishing()
    await scene.load([scene.good("a")])
    await publishing.settle()
    await scene.load([scene.good("a", title="диван " * 1000)], 2)
    await publishing.settle()
    listed, _ = await scene.receiver.list_documents("", 10)
    async with scene.database.connection() as connection:
        found = await publishing.comparison._find_unequal(connection, listed)
    assert (found.lost, found.unequal) == ([], [])
