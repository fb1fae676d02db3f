"""The pictures of the README: the demo on a terminal, and a diagram of the suite. `make pictures` draws them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PICTURES: Final = ROOT / "docs" / "pictures"
RECORDING: Final = PICTURES / "demo.ansi"
TERMINAL: Final = PICTURES / "demo.svg"
DIAGRAM: Final = PICTURES / "suite.svg"
