"""A searcher that was stopped is not searched before it has applied the changes since; later lag changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from classifeed_common.errors import Unavailable
from classifeed_searcher.store.catch_up import CatchUp

from ..conftest import Disk
from .conftest import Scene

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]

DOCUMENTS, CHANGED = 60, 20


def taken_in(searcher: Any) -> int:
    """Return the number of records of the topic that it has applied."""
    return sum(position.next for position in searcher.live.generation.state.positions.values())


async def test_stopped_searcher_is_searched_once_it_has_what_it_missed(
    scene: Scene, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def change(version: int) -> None:
        await scene.push_many(range(CHANGED), version)
        await scene.upstream.delivered()

    await scene.deliver(DOCUMENTS)
    searcher = scene.open_searcher()
    searcher.start()
    # They may come from a scan of the registry, before the records of the topic are applied.
    await searcher.until(lambda: searcher.is_whole and taken_in(searcher) == DOCUMENTS)
    await searcher.stop()
    await change(2)

    # The naive way searches every complete index: nothing reports that a third of it is old.
    disk.is_away = True
    with monkeypatch.context() as naive:
        naive.setattr(CatchUp, "behind", 0)
        searcher = scene.open_searcher()
        searcher.start()
        await searcher.until(lambda: searcher.is_whole)
        assert set(searcher.versions().values()) == {1}
        await searcher.stop()

    # It reports what is missing, waits only for that, and may be stopped meanwhile.
    searcher = scene.open_searcher()
    searcher.start()
    await searcher.until(lambda: searcher.live.catch_up is not None)
    await change(3)
    with pytest.raises(Unavailable, match=f"lacks {CHANGED} records") as refusal:
        await searcher.live.check()
    assert refusal.value.reason == "INDEX_CATCHING_UP"
    assert f"lacks {CHANGED} records" in searcher.keeper.blocked()[scene.upstream.client]
    assert sum((await searcher.keeper.backlog()).values()) == 2 * CHANGED
    await searcher.stop()

    disk.is_away = False
    expected = await scene.upstream.live_versions()
    shown: list[dict[str, int]] = []
    searcher = scene.open_searcher()
    searcher.start()

    def is_shown() -> bool:
        if searcher.is_whole:
            shown.append(searcher.versions())
        return bool(shown)

    await searcher.until(is_shown)
    assert shown == [expected]
    assert not searcher.keeper.blocked()

    # Lag alone does not take it out of service.
    disk.is_away = True
    await change(4)
    assert sum((await searcher.keeper.backlog()).values()) == CHANGED
    await searcher.live.check()
    await searcher.stop()

    # If it does not advance, old results with a report are better than none.
    searcher = scene.open_searcher()
    searcher.keeper._standstill_s = 0.5
    searcher.start()
    await searcher.until(lambda: searcher.is_whole)
    assert searcher.versions() == expected
    assert "it is searched without them" in searcher.keeper.blocked()[scene.upstream.client]
    disk.is_away = False
    current = await scene.upstream.live_versions()
    await searcher.until(lambda: searcher.versions() == current)
    await searcher.until(lambda: not searcher.keeper.blocked())
    await searcher.stop()

    # The topic loses the next records while the searcher is about to read them.
    await change(5)
    searcher = scene.open_searcher()
    ends_for = searcher.topic.ends_for

    async def ends_for_then_forget(positions: Any) -> Any:
        ends = await ends_for(positions)
        await scene.forget_topic()
        return ends

    searcher.topic.ends_for = ends_for_then_forget
    searcher.start()
    await searcher.until(lambda: searcher.is_whole)
    assert searcher.versions() == await scene.upstream.live_versions()
