"""The Dockerfile of every service, from one template and the dependencies in its pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Final

from tools.generate.files import ROOT

TEMPLATE: Final = ROOT / "services/Dockerfile.template"


def list_members(service: str) -> list[str]:
    """Return the folders that the image of a service installs: libraries sorted by name, then the service."""
    found: set[str] = set()
    todo = [f"services/{service}"]
    while todo:
        project = tomllib.loads((ROOT / todo.pop() / "pyproject.toml").read_text("utf-8"))["project"]
        named = {re.split(r"[^\w-]", each)[0] for each in project["dependencies"]}
        libraries = {f"libs/{name.removeprefix('classifeed-')}" for name in named if name.startswith("classifeed-")}
        todo += libraries - found
        found |= libraries
    return [*sorted(found), f"services/{service}"]


def list_files() -> Iterator[tuple[Path, str]]:
    """Yield each Dockerfile with its expected text."""
    template = Template(TEMPLATE.read_text("utf-8"))
    for project in sorted(ROOT.glob("services/*/pyproject.toml")):
        service = project.parent.name
        members = list_members(service)
        yield (
            project.parent / "Dockerfile",
            template.substitute(
                service=service,
                copies="\n".join(f"COPY {member} ./{member}" for member in members),
                members=" ".join(f"./{member}" for member in members),
            ),
        )
