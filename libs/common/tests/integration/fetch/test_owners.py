"""Owners of downloads: work of one owner does not delay the others (ADR 0035)."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from classifeed_common.fetch import AddressGuard, FetchFailed
from classifeed_common.fetch.addresses.look_ups import LookUps


@pytest.mark.parametrize("owner", ["flood", ""], ids=["shares", "naive"])
async def test_names_that_hang_hold_up_the_look_ups_of_their_owner_alone(
    monkeypatch: pytest.MonkeyPatch, owner: str
) -> None:
    """Their callers have given up long ago, but the threads are still busy."""
    release, hanging = threading.Event(), threading.Semaphore(0)
    ask = socket.getaddrinfo

    def slow(name: str, *arguments: Any, **named: Any) -> Any:
        if name.startswith("hang"):
            hanging.release()
            release.wait(120)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return ask("127.0.0.1", *arguments, **named)

    monkeypatch.setattr("classifeed_common.fetch.addresses.guard.socket.getaddrinfo", slow)
    is_shared = bool(owner)
    guard = AddressGuard(allow_loopback=True, look_ups=LookUps(threads=8, per_owner=3 if is_shared else 8))
    try:
        links = [guard.check_url(f"http://hang{number}.test/") for number in range(12)]
        wanting = [asyncio.create_task(guard.resolve(link, owner=owner)) for link in links]
        for _ in range(3 if is_shared else 8):
            assert await asyncio.to_thread(hanging.acquire, timeout=60)
        for task in wanting:
            task.cancel()
        await asyncio.gather(*wanting, return_exceptions=True)
        again = asyncio.create_task(guard.resolve(links[0], owner=owner))  # waits: the owner's threads are still busy
        good = guard.check_url("http://shop.test/")
        if is_shared:
            async with asyncio.timeout(60):
                assert [str(address) for address in await guard.resolve(good, owner="shop")] == ["127.0.0.1"]
            assert not hanging.acquire(blocking=False), "the flood got more threads than its share"
        else:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await guard.resolve(good, owner="shop")
        release.set()
        with pytest.raises(FetchFailed, match="did not respond"):
            await again
        async with asyncio.timeout(60):
            while guard._look_ups._owners:
                await asyncio.sleep(0.01)
    finally:
        release.set()
        guard.close()
