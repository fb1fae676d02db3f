"""Colours for outcomes, errors, places and commands in the output.

Rich omits them if the output is a file or a pipe, or if NO_COLOR is set.
"""

from __future__ import annotations

from rich.highlighter import RegexHighlighter


class Words(RegexHighlighter):
    """Highlights words of the output by their meaning; the names of the groups are colours."""

    highlights = [  # noqa: RUF012 - the base class declares it so
        r"(?<![\w-])(?P<green>SUCCEEDED|SERVING|RUNNING|ACTIVE|FOUND)(?![\w-])",
        r"(?<![\w-])(?P<red>FAILED|NOT_SERVING|DOWN|REJECTED|BANNED|load failed)(?![\w-])",
        r"(?<![\w-])(?P<yellow>HELD|PAUSED|PENDING|STARTING|SUPERSEDED|CANCELED|load held)(?![\w-])",
        r"\((?P<red>error [A-Z_]+)",
        r"\((?P<yellow>warning [A-Z_]+)",
        r"^(?P<green>✓) ",
        r"^(?P<red>✗) ",
        r"^(?P<yellow>[!…]) ",
        r"^ +│ +(?P<red>\^+)$",
        r"^ +[\d,]+  (?P<green>added|updated)$",
        r"^ +[\d,]+  (?P<red>rejected)\b",
        r"^ +[\d,]+  (?P<yellow>skipped|with a duplicate id|offers of earlier loads removed)\b",
        r"^(?P<red>error)$",
        r"^(?P<yellow>warning)$",
        r"^(?P<cyan>> .+)$",
        r"`(?P<cyan>[^`]+)`",
    ]
