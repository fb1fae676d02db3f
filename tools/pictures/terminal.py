"""A recording as a picture of a terminal: with selectable text, without scripts and external fonts."""

from __future__ import annotations

import io
import re
from typing import Final

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tools.pictures.recording import COLUMNS, steps_of

# The first step has a caret under a fault, the last one kills a process.
SHOWN: Final = (0, -1)
_CLIP: Final = re.compile(r' clip-path="[^"]*"')
_TITLE: Final = "make demo"
_THEME: Final = TerminalTheme(
    (13, 17, 23),
    (214, 222, 230),
    [
        (72, 79, 88),
        (255, 123, 114),
        (86, 211, 100),
        (227, 179, 65),
        (121, 192, 255),
        (210, 168, 255),
        (86, 212, 221),
        (214, 222, 230),
    ],
)
_FORMAT: Final = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img" \
aria-label="The demo on a terminal">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; \
font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 16px; font-family: sans-serif; }}
{styles}
</style>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def draw_terminal(output: str) -> str:
    """Return the picture of selected steps of a recording."""
    steps = steps_of(output)
    left_out = len(steps) - len(SHOWN)
    text = f"\n\x1b[2m   … {left_out} more steps: search, explain, a file again, by link …\x1b[0m\n\n".join(
        steps[number] for number in SHOWN
    )
    console = Console(width=COLUMNS, record=True, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(Text.from_ansi(text), soft_wrap=False)
    picture = console.export_svg(title=_TITLE, theme=_THEME, code_format=_FORMAT, unique_id="demo")
    picture = _CLIP.sub("", picture)  # all lines fit, so no line needs a clip path
    return "".join(f"{line.rstrip()}\n" for line in picture.splitlines() if line.strip())
