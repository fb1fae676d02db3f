"""Colour for what people look for first: how something ended, what is wrong, where, and what to type.

Rich leaves it away where output goes to a file or a pipe, and where NO_COLOR is set.
"""

from __future__ import annotations

from rich.highlighter import RegexHighlighter


class Words(RegexHighlighter):
    """Paints the words of this program by their meaning; the names of the groups are the colours."""

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
