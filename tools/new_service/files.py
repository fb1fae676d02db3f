"""The files of a new service, from templates."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Final

_TEMPLATES: Final = Path(__file__).with_name("template")
_SUFFIX: Final = ".tmpl"
_PLACEHOLDER: Final = "NAME"


def render_files(name: str, description: str) -> dict[Path, str]:
    """Return the files of a service by path from the root.

    Args:
        name: name of the service, a lower-case word.
        description: sentence about the service, without its full stop.
    """
    values = {"name": name, "Name": name.title(), "NAME": name.upper(), "description": description}
    return {
        Path(str(path.relative_to(_TEMPLATES)).replace(_PLACEHOLDER, name).removesuffix(_SUFFIX)): Template(
            path.read_text("utf-8")
        ).substitute(values)
        for path in sorted(_TEMPLATES.rglob(f"*{_SUFFIX}"))
    }
