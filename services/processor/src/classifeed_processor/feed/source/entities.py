"""Words for an entity that XML does not know: mostly one of HTML."""

from __future__ import annotations

import re
from html.entities import name2codepoint

from classifeed_processor.domain.faults import shown

_NAMED = re.compile(r"Entity '([^']{1,80})' not defined")


def undefined_entity(name: str) -> tuple[str, str]:
    """Return what is wrong with an entity of this name, and how to fix it."""
    name = shown(name)
    reason = f"&{name}; is not known in XML, which has &amp;, &lt;, &gt;, &quot; and &apos; only"
    code = name2codepoint.get(name)
    if code is None:
        return reason, f"Write &amp;{name}; if these characters are meant, or else the character itself."
    return reason, f"Write &#{code}; instead of &{name}; in the whole file, or the character itself."


def entity_of_libxml2(message: str) -> str:
    """Return the name of the entity that a message of libxml2 is about; empty when it is about something else."""
    found = _NAMED.search(message)
    return found[1] if found is not None else ""
