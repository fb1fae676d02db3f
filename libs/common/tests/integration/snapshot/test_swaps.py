"""A snapshot has the newest valid version of its file; an invalid file is refused as a whole."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from classifeed_common.auth import Policy
from classifeed_common.runner import Role, ServiceRunner
from classifeed_common.snapshot import Snapshot, SnapshotError
from classifeed_devkit.testing.rpc import settings_for

from .conftest import SCHEMA, File, Rules, make_snapshot, parse, text_of


def sample(name: str) -> float:
    return REGISTRY.get_sample_value(f"classifeed_snapshot_{name}", {"snapshot": "rules"}) or 0.0


async def look_twice(snapshot: Snapshot[Rules]) -> None:
    await snapshot.look()
    await snapshot.look()


async def test_a_change_is_in_force_after_two_looks(file: File, snapshot: Snapshot[Rules]) -> None:
    first = snapshot.current
    digest = hashlib.sha256(text_of("first", spam=False).encode()).hexdigest()
    assert (first.value, first.version) == ({"spam": False}, f"first@{digest[:12]}")
    swaps = sample("swaps_total")
    for change in (file.write, file.replace):
        before = snapshot.current
        change(text_of("second" if change == file.write else "", spam=True, police=True))
        await snapshot.look()
        assert snapshot.current is before
        await snapshot.look()
        assert snapshot.current.value == {"spam": True, "police": True}
        assert snapshot.current.version != before.version
    assert "@" not in snapshot.current.version, "a document without a name has its hash alone"
    assert first.value == {"spam": False}, "who decides by an older version goes on with it"
    assert sample("swaps_total") == swaps + 2


async def test_who_watches_sees_a_change_within_its_bound(file: File) -> None:
    snapshot, stop = make_snapshot(file.path, look_every_s=0.05), asyncio.Event()
    await snapshot.open()
    watching = asyncio.create_task(snapshot.run(stop))
    file.replace(text_of("second", spam=True))
    async with asyncio.timeout(30):
        while not snapshot.current.version.startswith("second@"):
            await asyncio.sleep(0.01)
    stop.set()
    async with asyncio.timeout(30):
        await watching


def test_the_bound_is_two_seconds(file: File) -> None:
    assert make_snapshot(file.path)._look_every_s == 1.0


# Contents, each with the message about it after the name of the file.
WRONG: Mapping[str, tuple[str, str]] = {
    "no yaml": ("rules:\n  - {verdict: spam\nname: x\n", "line 3: is not YAML: "),
    "a field is missing": ("rules:\n  - verdict: spam\n", "line 2, rules[0]: 'allowed' is a required property"),
    "wrong type": (
        "name: x\nrules:\n  - verdict: spam\n    allowed: no\n",
        "line 4, rules[0].allowed: 'no' is not of type 'boolean'",
    ),
    "unknown key": ("rules: []\nruls: []\n", "Additional properties are not allowed ('ruls' was unexpected)"),
    "refused by parse": (text_of(spam=True) + "  - verdict: spam\n    allowed: false\n", "line 4, rules[1].verdict: "),
    "key twice": ("rules: []\nname: x\nname: y\n", "line 3: the key 'name' is used twice"),
    "alias": ("rules: &all []\nname: *all\n", "line 2: aliases are not supported"),
    "too deep": ("rules: " + "[" * 100_000, "line 1: is nested more than 64 levels deep"),
    "empty": ("", "is empty"),
    "key that is no text": ("rules: []\n5: x\n", "line 2: keys are texts"),
    "object": ("rules: !!python/object/apply:os.getcwd []\n", "line 1: is not YAML: could not determine a constructor"),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_wrong_file_is_refused_with_line_and_path_and_the_old_one_stays(
    file: File, snapshot: Snapshot[Rules], wrong: str
) -> None:
    text, expected = WRONG[wrong]
    before = snapshot.current
    with capture_logs() as lines:
        file.write(text)
        for _ in range(5):
            await snapshot.look()
    assert snapshot.current is before
    [line] = [line for line in lines if line["log_level"] == "warning"]
    assert line["fault"].startswith(f"{file.path}: {expected}"), line
    assert line["in_force"] == before.version
    blocked = snapshot.blocked()["rules"]
    assert blocked.startswith(line["fault"])
    assert before.version in blocked
    assert sample("refused") == 1
    file.write(text_of("mended", spam=True))
    await look_twice(snapshot)
    assert snapshot.current.version.startswith("mended@")
    assert (snapshot.blocked(), sample("refused")) == ({}, 0)


async def test_another_fault_is_another_line(file: File, snapshot: Snapshot[Rules]) -> None:
    with capture_logs() as lines:
        for text in ("rules: 1\n", "rules: 1\n", "rules: 2\n"):
            file.write(text)
            await look_twice(snapshot)
    assert len([line for line in lines if line["event"] == "snapshot.refused"]) == 2


async def test_the_old_content_again_is_no_fault_any_more(file: File, snapshot: Snapshot[Rules]) -> None:
    before = snapshot.current
    file.write("rules: 1\n")
    await look_twice(snapshot)
    assert snapshot.blocked()
    file.write(text_of("first", spam=False))
    await look_twice(snapshot)
    assert (snapshot.current, snapshot.blocked()) == (before, {})


async def test_a_half_written_file_is_not_taken_though_it_is_right(file: File, snapshot: Snapshot[Rules]) -> None:
    before = snapshot.current
    whole = text_of("second", **{f"v{n}": True for n in range(100)})
    cut = whole.index("  - verdict: v50\n")
    for end in range(cut // 2, cut, 100):
        file.write(whole[:end])
        await snapshot.look()
        assert snapshot.current is before
    file.write(whole[:cut])  # a valid document with half of the rules
    await snapshot.look()
    file.write(whole)
    await snapshot.look()
    assert snapshot.current is before
    assert snapshot.blocked() == {}
    await snapshot.look()
    assert len(snapshot.current.value) == 100


async def test_what_changes_while_it_is_read_is_read_again(
    file: File, snapshot: Snapshot[Rules], monkeypatch: pytest.MonkeyPatch
) -> None:
    before, read = snapshot.current, snapshot._source.read

    async def read_and_write() -> bytes:
        content = await read()
        file.write(text_of("third", spam=True))
        return content

    file.write(text_of("second", spam=True))
    await snapshot.look()
    monkeypatch.setattr(snapshot._source, "read", read_and_write)
    await snapshot.look()
    assert snapshot.current is before
    monkeypatch.undo()
    await look_twice(snapshot)
    assert snapshot.current.version.startswith("third@")


async def test_the_same_content_is_no_new_version(file: File, snapshot: Snapshot[Rules]) -> None:
    before, swaps = snapshot.current, sample("swaps_total")
    with capture_logs() as lines:
        file.replace(text_of("first", spam=False))
        await look_twice(snapshot)
    assert snapshot.current is before
    assert (sample("swaps_total"), lines) == (swaps, [])


async def test_a_file_that_is_away_leaves_its_version_in_force(file: File, snapshot: Snapshot[Rules]) -> None:
    before = snapshot.current
    aside = file.path.with_name("aside")
    with capture_logs() as lines:
        file.path.rename(aside)
        for _ in range(3):
            await snapshot.look()
        assert snapshot.blocked()["rules"].startswith(f"there is no file {file.path}")
        assert sample("refused") == 1
        aside.rename(file.path)
        await look_twice(snapshot)
    assert (snapshot.current, snapshot.blocked()) == (before, {})
    assert [line["event"] for line in lines] == ["snapshot.refused", "snapshot.mended"]
    file.path.unlink()
    await snapshot.look()
    file.path.mkdir()
    await look_twice(snapshot)
    assert "IsADirectoryError" in snapshot.blocked()["rules"]
    file.path.rmdir()
    file.write(text_of("back", spam=True))
    await look_twice(snapshot)
    assert snapshot.current.version.startswith("back@")


class Panic(BaseException):
    """Derived like pyo3's exception for a panic of an engine."""


@pytest.mark.parametrize("fault", [KeyError("nothing"), Panic("the automaton is too large")], ids=["error", "panic"])
async def test_a_fault_of_parse_leaves_the_version_in_force(file: File, fault: BaseException) -> None:
    def failing(document: Any) -> Rules:
        if document["name"] == "second":
            raise fault
        return parse(document)

    snapshot = make_snapshot(file.path, parse=failing)
    await snapshot.open()
    file.write(text_of("second", spam=True))
    await look_twice(snapshot)
    assert snapshot.current.version.startswith("first@")
    assert f"{type(fault).__name__}: {fault}" in snapshot.blocked()["rules"]
    file.write(text_of("third", spam=True))
    await look_twice(snapshot)
    assert (snapshot.current.version.startswith("third@"), snapshot.blocked()) == (True, {})


async def test_readers_see_one_whole_version(file: File) -> None:
    """Threads read while versions are replaced: name, hash and rules that one reader takes are from the same file."""
    texts = [text_of(f"v{n}", **{f"rule{n}x{i}": True for i in range(n + 1)}) for n in range(40)]
    wanted = {
        f"v{n}@{hashlib.sha256(text.encode()).hexdigest()[:12]}": [f"rule{n}x{i}" for i in range(n + 1)]
        for n, text in enumerate(texts)
    }
    file.write(texts[0])
    snapshot = make_snapshot(file.path)
    await snapshot.open()
    ended, wrong, seen = threading.Event(), list[object](), set[str]()

    def read() -> None:
        while not ended.is_set():
            taken = snapshot.current
            seen.add(taken.version)
            if wanted.get(taken.version) != list(taken.value):
                wrong.append(taken)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for text in texts[1:]:
        file.write(text)
        await look_twice(snapshot)
    ended.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert snapshot.current.version in wanted
    assert len(seen) > 1


@pytest.mark.parametrize("text", ["rules: 1\n", None])
async def test_there_is_no_beginning_with_a_wrong_file(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "rules.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SnapshotError, match=f"rules: .*{path}"):
        await make_snapshot(path).open()


async def test_a_service_is_degraded_while_its_file_is_wrong(file: File) -> None:
    snapshot = make_snapshot(file.path, look_every_s=0.02)
    runner = ServiceRunner(
        settings_for("receiver").model_copy(update={"drain_notice_s": 0.0}),
        "receiver",
        "1",
        roles=[Role("watch", snapshot.run, blocked=snapshot.blocked)],
        on_start=snapshot.open,
        policy=Policy({}),
    )
    stop = asyncio.Event()
    task = asyncio.create_task(runner.run(stop))

    async def until(status: str) -> None:
        async with asyncio.timeout(30):
            while runner.describe()["status"] != status:
                assert not task.done(), task.result()
                await asyncio.sleep(0.01)

    await until("ready")
    file.write("rules: 1\n")
    await until("degraded")
    assert "rules: 1 is not of type 'array'" in str(runner.describe()["blocked"])
    file.write(text_of("mended", spam=True))
    await until("ready")
    stop.set()
    assert await task == 0


def test_a_schema_that_is_none_is_a_fault_at_once(file: File) -> None:
    with pytest.raises(Exception, match="is not valid under any of the given schemas"):
        make_snapshot(file.path, schema={**SCHEMA, "type": "thing"})
