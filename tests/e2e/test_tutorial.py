"""The commands of the tutorial, run in order, have the results that the page describes."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from tests.docs.pages import ROOT
from tests.e2e.suite import Suite

PAGE: Final = (ROOT / "docs/tutorial.md").read_text("utf-8")
COMMAND: Final = re.compile(r"^(?:classifeed|cp) .*", re.MULTILINE)
_FAILS: Final = {"feed add", "feed run", "moderation check"}
pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.kafka]


def test_each_command_does_what_the_page_says(
    suite: Suite, seller: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, list[dict[str, Any]]] = {}
    for line in COMMAND.findall(PAGE):
        program, *arguments = shlex.split(line.replace("my-shop", seller))
        if program == "cp":
            shutil.copy(ROOT / arguments[0], arguments[1])
            continue
        result = suite.run(*arguments)
        name = " ".join(arguments[: 2 if arguments[0] in {"feed", "task", "offer", "moderation"} else 1])
        assert result.exit_code == int(name in _FAILS), (line, result)
        found.setdefault(name, []).append(result.document)
        if name == "feed upload":
            suite.settle()

    first, second = found["feed upload"]
    assert (first["status"], second["status"]) == ("SUCCEEDED", "SUCCEEDED")
    assert found["task errors"][0]["errors"], "the sample has offers with faults"
    assert all(document["hits"] for document in found["search"])
    assert found["offer explain"][0]["fate"] == "REJECTED"
    assert "shop.example" in str(found["feed fetches"])
    assert found["moderation show"][0]["key"] == f"offer/{seller}/default/B-101"
