"""A rules file is accepted as a whole, or refused with line and path; the packaged file equals its lists."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.docs.pages import ROOT
from tools.cleanweb.rules import render

from classifeed_cleanweb.automatics import Automatics
from classifeed_cleanweb.automatics.forms import MAX_FORMS, NotationError, expand, masked
from classifeed_cleanweb.automatics.model import BUCKETS, Model
from classifeed_cleanweb.rules.loading import automatics_snapshot, packaged_rules
from classifeed_common.snapshot import SnapshotError

_RIGHT = """\
name: mine
lists:
  junk:
    kind: words
    verdict: text_auto_spam
    suffixes: {noun: ["", а, ом]}
    entries:
      - rule: junk.a
        forms: [мусор<noun>, "{очень ,}хлам"]
    allow: [мусоропровод]
"""


async def test_the_rules_of_the_wheel_open() -> None:
    snapshot = automatics_snapshot(None)
    await snapshot.open()
    assert snapshot.current.version.startswith("packaged@")
    assert snapshot.current.value.judge("онлайн казино", (), "offer").findings[0].rule == "spam.ru.gamble"


async def test_a_change_is_swapped_in_and_a_wrong_one_is_not(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(_RIGHT, "utf-8")
    snapshot = automatics_snapshot(file)
    await snapshot.open()
    before = snapshot.current.value

    async def change(old: str, new: str) -> None:
        file.write_text(_RIGHT.replace(old, new), "utf-8")
        await snapshot.look()
        await snapshot.look()

    assert [one.excerpt for one in before.judge("мусором, отходами", (), "offer").findings] == ["мусором"]
    await change("<noun>", "<nouns>")
    assert "line 9, lists.junk.entries[0].forms[0]" in snapshot.blocked()["automatics"]
    assert snapshot.current.value is before
    await change("мусор<noun>", "отход<noun>ами")
    assert snapshot.blocked() == {}
    assert [one.excerpt for one in snapshot.current.value.judge("мусором, отходами", (), "offer").findings] == [
        "отходами"
    ]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("text_auto_spam", "spam", "line 5, lists.junk.verdict"),
        ("rule: junk.a", "rule: Junk A", "line 8, lists.junk.entries[0].rule"),
        ("forms: [", "forma: [", "line 8, lists.junk.entries[0]"),
        ("мусор<noun>", "мусор<nouns>", "line 9, lists.junk.entries[0].forms[0]"),
        ("{очень ,}", "{очень ,", "line 9, lists.junk.entries[0].forms[1]"),
        ("{очень ,}", "очень}", "line 9, lists.junk.entries[0].forms[1]"),
        ("{очень ,}хлам", "—", "line 9, lists.junk.entries[0].forms[1]"),
        ("    allow:", "      - {rule: junk.a, forms: [сор]}\n    allow:", "line 10, lists.junk.entries[1].rule"),
        ("[мусоропровод]", "['{мусор']", "line 10, lists.junk.allow[0]"),
        ("kind: words", "kind: word", "line 4, lists.junk.kind"),
        ("kind: words", "kind: [", "line "),
    ],
)
async def test_a_wrong_file_is_refused_with_line_and_path(old: str, new: str, where: str, tmp_path: Path) -> None:
    assert old in _RIGHT
    file = tmp_path / "rules.yaml"
    file.write_text(_RIGHT.replace(old, new), "utf-8")
    with pytest.raises(SnapshotError) as refused:
        await automatics_snapshot(file).open()
    assert f"{file}: {where}" in str(refused.value)


def test_the_file_of_the_wheel_is_what_its_lists_make() -> None:
    folder = ROOT / "services/cleanweb/src/classifeed_cleanweb/rules"
    assert (folder / "rules.yaml").read_text("utf-8") == render(folder)


def test_lists_are_the_same_in_another_process() -> None:
    """Forms have the order of the notation, independent of the order of sets and hashes."""
    code = (
        "import hashlib\n"
        "from classifeed_cleanweb.automatics.rules_file import parse_rules\n"
        "from classifeed_cleanweb.rules.loading import packaged_rules\n"
        "print(hashlib.sha256(repr(parse_rules(packaged_rules())).encode()).hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


def test_notations() -> None:
    assert expand("{a,b{c,d},}e", {}) == ["ae", "bce", "bde", "e"]
    assert expand("x<n>", {"n": ["", "y"]}) == ["x", "xy"]
    assert expand("a, b", {}) == ["a, b"]
    assert masked("мусор") == ["м*сор", "мус*р"]
    assert masked("сор") == ["с*р"]
    with pytest.raises(NotationError, match="more than"):
        expand("{a,b,c,d,e,f,g,h,i,j}" * 6, {})
    assert MAX_FORMS < 10**6


def test_a_model_of_another_shape_or_with_a_pickle_is_refused() -> None:
    def content(**arrays: object) -> bytes:
        file = io.BytesIO()
        np.savez(file, **arrays)  # type: ignore[arg-type]
        return file.getvalue()

    assert Model.parse(content(weights=np.zeros(BUCKETS), bias=0.0)).score(np.ones(9, np.uint8)) == 0.5
    with pytest.raises(ValueError, match="train it again"):
        Model.parse(content(weights=np.zeros(3), bias=0.0))
    with pytest.raises(ValueError, match="allow_pickle"):
        Model.parse(content(weights=np.array([{}], dtype=object), bias=0.0))


def test_loading_leaves_the_document_as_it_is() -> None:
    document = packaged_rules()
    Automatics.load(document)
    assert document == packaged_rules()
