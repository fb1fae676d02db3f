"""The page of variables without a prefix has all of them with their defaults."""

from __future__ import annotations

import re

from classifeed_loader.settings import Hosting
from tests.docs.pages import REFERENCE

ROWS = dict(
    re.findall(r"^\| `([A-Z_]+)` \| (.*?) ?\| ", (REFERENCE / "jobs-settings.md").read_text("utf-8"), re.MULTILINE)
)


def test_page_and_code_have_the_same_variables() -> None:
    assert set(ROWS) == {name.upper() for name in Hosting.model_fields}


def test_defaults_are_those_of_the_code() -> None:
    for name, stated in ROWS.items():
        default = Hosting.model_fields[name.lower()].default
        if name == "WORKERS_JSON":
            assert stated == ", ".join(f"`{queue}` {count}" for queue, count in default.items())
        elif name == "DL_PIPELINE_MODULES":
            assert stated == f"`{','.join(default)}`"
        else:
            shown = str(default) if default is not None and "Secret" not in type(default).__name__ else ""
            assert stated == (f"`{shown}`" if shown else ""), name
