"""A recording of the demo on a terminal of 80 columns, with colours, and its shape, which is the same in every run."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from typing import Final

COLUMNS: Final = 80
_LINES: Final = 50
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_HEADLINE: Final = re.compile(r"(?m)^(?=(?:\x1b\[[0-9;]*m)?\d\. )")
_END: Final = re.compile(r"(?m)^Done in ")
# Texts that differ between two runs of the demo; a pattern comes before patterns that match a part of it.
_VARIABLE: Final = tuple(
    (re.compile(pattern, re.MULTILINE), word)
    for pattern, word in (
        (r"\b\d{16}\b", "ID"),
        (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( [A-Z]{3})?", "TIME"),
        (r"\b\d{4}-\d\d-\d\d\b", "DAY"),
        (r"\b\d\d:\d\d:\d\d\b", "CLOCK"),
        (r" +\+[\d.]+ (ms|s|min)\b", ""),
        (r" \([\d,]+ a second\)", ""),
        (r"\bin [\d.]+ (ms|s)\b", "in DURATION"),
        (r"127\.0\.0\.1:\d+", "ADDRESS"),
        (r"/get/offers/\d+/[0-9a-f]{32}/", "/get/PICTURE/"),
        (r"(kill -9|as process) \d+", r"\1 PID"),
        (r"^[\d,]+( of 20,000 offers are stored)", r"COUNT\1"),
        (r"(it finds) [\d,]+( of)", r"\1 COUNT\2"),
    )
)


def record_demo() -> str:
    """Return the output of `classifeed demo` on a terminal.

    Raises:
        SystemExit: the demo failed.
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, COLUMNS, 0, 0))
    unwanted = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "COLORTERM"}
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    process = subprocess.Popen(
        [sys.executable, "-m", "classifeed_cli.main", "demo"],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.PIPE,
        env={**environment, "TERM": "xterm", "TZ": "UTC"},
    )
    os.close(follower)
    output = b""
    try:
        while chunk := os.read(leader, 1 << 16):
            output += chunk
    except OSError:  # Linux reports so that no process has the terminal open
        pass
    finally:
        os.close(leader)
    _, errors = process.communicate()
    if process.returncode:
        raise SystemExit(f"the demo failed:\n{errors.decode()}")
    return output.decode().replace("\r\n", "\n")


def steps_of(output: str) -> list[str]:
    """Return the output of each step with its colours, beginning with its headline."""
    return [f"{step.rstrip()}\n" for step in _HEADLINE.split(_END.split(output)[0])[1:]]


def shape_of(output: str) -> list[str]:
    """Return the lines of the steps without colours, with placeholders for texts that differ between runs.

    The number of blanks matters only in excerpts of files, which have carets below.
    """
    text = _COLOUR.sub("", "\n".join(steps_of(output)))
    for pattern, word in _VARIABLE:
        text = pattern.sub(word, text)
    return [line if "│" in line else " ".join(line.split()) for line in text.splitlines()]
