"""Rules are reloaded within 5 s while the service runs."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from classifeed_cleanweb.rules.loading import automatics_snapshot
from classifeed_common.snapshot.snapshot import LOOK_EVERY_S
from classifeed_devkit.testing.recovery import until

from ..conftest import Start

OFFER = "offer/seller/default/1~00"
RULES = """\
name: mine
lists:
  junk:
    kind: words
    verdict: text_auto_spam
    entries:
      - rule: junk.a
        forms: [FORMS]
"""


def put(file: Path, forms: str) -> None:
    """Replace the terms atomically, as a deployment does."""
    new = file.with_suffix(".new")
    new.write_text(RULES.replace("FORMS", forms), "utf-8")
    os.replace(new, file)  # noqa: PTH105 - the name says it


def test_a_change_is_in_force_within_5_s() -> None:
    """One poll sees a new file, and the next one loads it."""
    assert 2 * LOOK_EVERY_S + 1.0 <= 5
    assert automatics_snapshot(None)._look_every_s == LOOK_EVERY_S


async def test_a_new_term_is_found_and_a_wrong_file_changes_nothing(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    put(file, "rubbish")
    cleanweb = await start(rules_file=file, auto_pass=True)

    async def found(text: str) -> list[str]:
        response = await cleanweb.process(text, key=OFFER)
        return [item["name"] for item in response["result"]["verdicts"]][:-1]

    async def is_refused() -> bool:
        blocked = (await cleanweb.http.get("/health/ready")).json()["blocked"]
        return "automatics" in blocked.get("watch", {})

    async def is_live() -> bool:
        return bool(await found("a gadget, new"))

    assert [await found(text) for text in ("rubbish, old", "a gadget, old")] == [["text_auto_spam"], []]
    await asyncio.to_thread(put, file, "gadget<noun>")
    await until(is_refused)
    assert [await found(text) for text in ("rubbish, mid", "a gadget, mid")] == [["text_auto_spam"], []]
    await asyncio.to_thread(put, file, "gadget")
    await until(is_live)
    assert await found("rubbish, new") == []
    assert not await is_refused()
