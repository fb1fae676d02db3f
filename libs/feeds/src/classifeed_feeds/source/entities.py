"""Messages about undefined entities, which are mostly those of HTML."""

from __future__ import annotations

import re
from html.entities import name2codepoint

from classifeed_feeds.faults import shown

_NAMED = re.compile(r"Entity '([^']{1,80})' not defined")


def undefined_entity(name: str) -> tuple[str, str]:
    """Return the reason and the fix for an undefined entity."""
    name = shown(name)
    reason = f"&{name}; is not known in XML, which has &amp;, &lt;, &gt;, &quot; and &apos; only"
    code = name2codepoint.get(name)
    if code is None:
        return reason, f"Write &amp;{name}; if these characters are meant; otherwise write the character itself."
    return reason, f"Write &#{code}; instead of &{name}; in the whole file, or the character itself."


def entity_of_libxml2(message: str) -> str:
    """Return the name of the undefined entity in a message of libxml2; empty: the message is about something else."""
    found = _NAMED.search(message)
    return found[1] if found is not None else ""
