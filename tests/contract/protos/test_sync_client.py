"""The synchronous client is generated from the asynchronous client."""

from __future__ import annotations

from tools.generate.files import list_stale
from tools.generate.sync_client import list_files, write_sync


def test_the_synchronous_client_is_up_to_date() -> None:
    assert list_stale(list_files()) == [], "run `make stubs`"


def test_nothing_asynchronous_is_left() -> None:
    source = '"""A client."""\n\nimport asyncio\n\n\nasync def get() -> None:\n'
    source += "    await asyncio.sleep(1)\n    return await ask()\n"
    written = write_sync(source, "feeds.py")
    assert "async" not in written
    assert "await" not in written
    assert "time.sleep(1)" in written
