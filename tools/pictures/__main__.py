"""`python -m tools.pictures` draws the pictures; with `--record` it first runs the demo on a terminal."""

from __future__ import annotations

from tools.arguments import parser_of
from tools.pictures import DIAGRAM, RECORDING, TERMINAL
from tools.pictures.diagram import draw_diagram
from tools.pictures.facts import facts_of
from tools.pictures.recording import record_demo
from tools.pictures.terminal import draw_terminal


def main() -> None:
    """Write the pictures."""
    parser = parser_of(__doc__)
    parser.add_argument("--record", action="store_true", help="run the demo first and record it")
    if parser.parse_args().record:
        RECORDING.write_text(record_demo(), encoding="utf-8")
    TERMINAL.write_text(draw_terminal(RECORDING.read_text(encoding="utf-8")), encoding="utf-8")
    DIAGRAM.write_text(draw_diagram(facts_of()), encoding="utf-8")


main()
