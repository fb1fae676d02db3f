"""The pictures of the sample price lists: `python -m tools.sample_pictures` draws them into the package.

They are committed, so that the demo needs no library to draw them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from PIL import Image, ImageDraw

from tools.arguments import parse
from tools.generated import ROOT

FOLDER: Final = ROOT / "cli/src/classifeed_cli/samples/pictures"
_SIZE: Final = (640, 480)
_FINER: Final = 3  # pictures are drawn larger and shrunk, for smooth edges
_WALL, _GROUND, _WOOD, _DARK = "#e9e4da", "#c8bda9", "#a9713f", "#5d4028"
_CLOTH, _SHADE, _LAWN, _IRON, _GLOW = "#5b7793", "#48617a", "#a9bf86", "#4b4f54", "#f2c14e"


class _Canvas:
    """A canvas with the coordinates of the finished picture."""

    def __init__(self, ground: str) -> None:
        self.image = Image.new("RGB", (_SIZE[0] * _FINER, _SIZE[1] * _FINER), _WALL)
        self._draw = ImageDraw.Draw(self.image)
        self.box(0, 360, 640, 480, ground)

    def box(self, left: int, top: int, right: int, bottom: int, colour: str, radius: int = 0) -> None:
        corners = tuple(each * _FINER for each in (left, top, right, bottom))
        self._draw.rounded_rectangle(corners, radius * _FINER, fill=colour)

    def oval(self, left: int, top: int, right: int, bottom: int, colour: str) -> None:
        self._draw.ellipse(tuple(each * _FINER for each in (left, top, right, bottom)), fill=colour)

    def line(self, x1: int, y1: int, x2: int, y2: int, colour: str, width: int) -> None:
        self._draw.line(tuple(each * _FINER for each in (x1, y1, x2, y2)), fill=colour, width=width * _FINER)


def _bench(on: _Canvas) -> None:
    for left in (150, 470):
        on.box(left, 220, left + 20, 400, _IRON, 6)
    for top in (190, 222, 254):
        on.box(120, top, 520, top + 22, _WOOD, 5)
    on.box(110, 300, 530, 326, _DARK, 5)


def _chair(on: _Canvas) -> None:
    on.line(250, 120, 270, 400, _DARK, 16)
    on.line(390, 300, 400, 400, _DARK, 16)
    on.line(280, 300, 262, 400, _DARK, 12)
    on.box(242, 110, 268, 300, _WOOD, 8)
    on.box(242, 280, 410, 306, _CLOTH, 10)


def _sofa(on: _Canvas) -> None:
    on.box(110, 180, 530, 320, _SHADE, 28)
    on.box(80, 230, 150, 370, _CLOTH, 24)
    on.box(490, 230, 560, 370, _CLOTH, 24)
    on.box(145, 285, 318, 355, _CLOTH, 16)
    on.box(322, 285, 495, 355, _CLOTH, 16)
    for left in (110, 510):
        on.box(left, 366, left + 20, 396, _DARK)


def _table(on: _Canvas) -> None:
    on.box(100, 220, 540, 246, _WOOD, 8)
    for left in (130, 494):
        on.box(left, 244, left + 18, 410, _DARK)


def _shelf(on: _Canvas) -> None:
    on.box(210, 70, 430, 420, _DARK)
    for top in range(84, 400, 68):
        on.box(224, top, 416, top + 54, _WALL)
    for number, colour in enumerate((_CLOTH, _WOOD, _IRON, _GLOW, _SHADE)):
        on.box(232 + 18 * number, 96, 246 + 18 * number, 138, colour)


def _tool(on: _Canvas) -> None:
    on.line(320, 80, 320, 300, _WOOD, 16)
    on.box(280, 70, 360, 90, _DARK, 8)
    on.box(272, 280, 368, 400, _IRON, 18)


def _lantern(on: _Canvas) -> None:
    on.oval(270, 90, 370, 190, _IRON)
    on.oval(282, 102, 358, 178, _WALL)
    on.box(250, 150, 390, 390, _IRON, 14)
    on.box(272, 180, 368, 360, _GLOW, 8)
    on.box(308, 280, 332, 360, _WALL, 4)


_DRAWINGS: Final[dict[str, tuple[str, Callable[[_Canvas], None]]]] = {
    "bench": (_LAWN, _bench),
    "chair": (_LAWN, _chair),
    "lantern": (_LAWN, _lantern),
    "shelf": (_GROUND, _shelf),
    "sofa": (_GROUND, _sofa),
    "table": (_GROUND, _table),
    "tool": (_LAWN, _tool),
}


def main() -> None:
    """Draw all pictures."""
    parse(__doc__)
    FOLDER.mkdir(exist_ok=True)
    for name, (ground, draw) in _DRAWINGS.items():
        canvas = _Canvas(ground)
        draw(canvas)
        small = canvas.image.resize(_SIZE, Image.Resampling.LANCZOS)
        small.save(FOLDER / f"{name}.jpg", quality=80, optimize=True)


if __name__ == "__main__":
    main()
