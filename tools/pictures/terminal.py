"""A recording as a picture of a terminal: with selectable text, without scripts and external fonts."""

from __future__ import annotations

import io
import re
from typing import Final

from rich.console import Console
from rich.text import Text

from tools.pictures.recording import COLUMNS, steps_of

# The first step has a caret under a fault, the last one kills a process.
SHOWN: Final = (0, -1)
_FROM_OTHER_SERVERS: Final = re.compile(r"<!--.*?-->|@font-face \{.*?\}", re.DOTALL)


def draw_terminal(output: str) -> str:
    """Return the picture of selected steps of a recording."""
    steps = steps_of(output)
    left_out = len(steps) - len(SHOWN)
    text = f"\n\x1b[2m   … {left_out} more steps: search, explain, a file again, by link …\x1b[0m\n\n".join(
        steps[number] for number in SHOWN
    )
    console = Console(width=COLUMNS, record=True, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(Text.from_ansi(text), soft_wrap=False)
    picture = _FROM_OTHER_SERVERS.sub("", console.export_svg(title="make demo", unique_id="demo"))
    return "".join(f"{line.rstrip()}\n" for line in picture.splitlines() if line.strip())
