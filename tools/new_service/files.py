"""The files of a new service, from templates."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Final

_TEMPLATES: Final = Path(__file__).with_name("template")
_SUFFIX: Final = ".tmpl"
_PLACEHOLDER: Final = "NAME"


def render_files(name: str, description: str) -> dict[Path, str]:
    """Return the files of a service by their paths from the root.

    Args:
        name: of the service, a lower-case word.
        description: what it does, a sentence without its full stop.
    """
    values = {"name": name, "Name": name.title(), "NAME": name.upper(), "description": description}
    return {
        Path(str(path.relative_to(_TEMPLATES)).replace(_PLACEHOLDER, name).removesuffix(_SUFFIX)): Template(
            path.read_text("utf-8")
        ).substitute(values)
        for path in sorted(_TEMPLATES.rglob(f"*{_SUFFIX}"))
    }
