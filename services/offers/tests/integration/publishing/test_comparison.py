"""The table of offers is restored: documents of lost offers leave the registry, and the others match it again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from classifeed_common.telemetry.metrics import REPAIRED_DOCUMENTS
from classifeed_devkit.testing.databases import TableBackup
from classifeed_domain.publishing import ReceiverClient

from ...conftest import Load, NewPublishing, Owner, Publishing, Records
from .conftest import Registry

WITHDRAWN = REPAIRED_DOCUMENTS.labels("offers", "withdrawn")


async def alive(owner: Owner) -> dict[str, int]:
    """Return the version of each offer that the search must show."""
    return {external_id: row[6] for external_id, row in (await owner.rows()).items() if row[0] == "ACTIVE"}


def equal_to(registry: Registry, owner: Owner) -> Callable[[], Awaitable[bool]]:
    async def is_equal() -> bool:
        return await registry.live() == await alive(owner)

    return is_equal


async def settle(publishing: Publishing) -> None:
    async with publishing.running():
        await publishing.until(publishing.is_settled)


async def put_back(owner: Owner, backup: TableBackup) -> None:
    """Restore a table whose rows another table references."""
    async with owner.database.transaction() as tx:
        await tx.execute("ALTER TABLE refused_documents DROP CONSTRAINT refused_documents_offer_id_fkey")
    await backup.restore()


@pytest.mark.parametrize("tables", [("offers",), ("offers", "published_positions")])
async def test_documents_equal_a_table_that_was_restored(
    owner: Owner,
    records: Records,
    new_load: type[Load],
    new_publishing: NewPublishing,
    registry: Registry,
    receiver: ReceiverClient,
    tables: tuple[str, ...],
) -> None:
    """Some offers are new, some changed, some removed since the backup; there is no new load."""
    publishing = new_publishing(receiver)
    await owner.load(new_load([records.good(f"{n}") for n in range(60)], batch_size=100))
    await settle(publishing)
    kept = await alive(owner)
    backup = TableBackup(owner.database, *tables)
    await backup.take()
    await owner.load(new_load([records.good(f"{n}", price=70) for n in range(30, 90)], 2, batch_size=100))
    await settle(publishing)
    await put_back(owner, backup)
    assert (await alive(owner)).keys() == kept.keys()
    assert (await registry.live()).keys() != kept.keys()
    async with publishing.running(comparison=True):
        await publishing.until(equal_to(registry, owner))
        await publishing.until(publishing.is_settled)
    assert (await registry.live()).keys() == kept.keys()


async def test_lost_offers_are_not_withdrawn_while_requests_can_bring_them_back(
    owner: Owner,
    records: Records,
    new_load: type[Load],
    new_publishing: NewPublishing,
    registry: Registry,
    receiver: ReceiverClient,
) -> None:
    publishing = new_publishing(receiver)
    await owner.load(new_load([records.good("kept"), records.good("changed")]))
    await settle(publishing)
    backup = TableBackup(owner.database, "offers")
    await backup.take()
    await owner.load(new_load([records.good("kept"), records.good("changed", price=70), records.good("lost")], 2))
    await settle(publishing)
    await put_back(owner, backup)
    publishing.may_withdraw = False
    withdrawn = WITHDRAWN._value.get()
    async with publishing.running(comparison=True):

        async def is_changed_back() -> bool:
            return (await registry.live())["changed"] == (await alive(owner))["changed"]

        await publishing.until(is_changed_back)
        assert "lost" in await registry.live()
        publishing.may_withdraw = True
        await publishing.until(equal_to(registry, owner))
    assert WITHDRAWN._value.get() == withdrawn + 1


async def test_a_late_withdrawal_does_not_hide_an_offer_that_came_back(
    owner: Owner,
    records: Records,
    new_load: type[Load],
    new_publishing: NewPublishing,
    registry: Registry,
    receiver: ReceiverClient,
) -> None:
    """The process pauses after it has found the offer lost, and a load brings the offer back."""
    publishing = new_publishing(receiver)
    await owner.load(new_load([records.good("a"), records.good("lost")]))
    await settle(publishing)
    listed, _ = await receiver.list_documents("", 10)
    async with owner.database.transaction() as tx:
        await tx.execute("DELETE FROM offers WHERE external_id = 'lost'")
    await owner.load(new_load([records.good("a"), records.good("lost", price=70)], 2))
    await settle(publishing)
    await publishing.comparison._withdraw([each for each in listed if each.pk.endswith("lost")])
    assert await registry.live() == await alive(owner)
    assert "lost" in await registry.live()


async def test_loads_beside_a_comparison_lose_nothing(
    owner: Owner,
    records: Records,
    new_load: type[Load],
    new_publishing: NewPublishing,
    registry: Registry,
    receiver: ReceiverClient,
) -> None:
    publishing = new_publishing(receiver)
    withdrawn = WITHDRAWN._value.get()
    async with publishing.running(comparison=True):
        for revision in range(1, 9):
            offers = [records.good(f"{n}", price=revision) for n in range(revision * 10, revision * 10 + 40)]
            await owner.load(new_load(offers, revision, batch_size=20))
        await publishing.until(equal_to(registry, owner))
        await publishing.until(publishing.is_settled)
    assert await registry.live() == await alive(owner)
    assert WITHDRAWN._value.get() == withdrawn


async def test_an_offer_that_the_receiver_refuses_is_not_pushed_again_and_again(
    owner: Owner,
    records: Records,
    new_load: type[Load],
    new_publishing: NewPublishing,
    registry: Registry,
    receiver: ReceiverClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry.push_documents, "_limit_bytes", 3000)
    publishing = new_publishing(receiver)
    await owner.load(new_load([records.good("a")]))
    await settle(publishing)
    await owner.load(new_load([records.good("a", title="диван " * 1000)], 2))
    await settle(publishing)
    listed, _ = await receiver.list_documents("", 10)
    async with owner.database.connection() as connection:
        found = await publishing.comparison._find_unequal(connection, listed)
    assert (found.lost, found.unequal) == ([], [])
