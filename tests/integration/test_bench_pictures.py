"""Each part of the benchmark of pictures runs to its end, in the smallest size and without other programs."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from bench.pictures.hosts import SIZE_BYTES, drawing, encoded, numbered
from PIL import Image
from tests.docs.pages import ROOT

from classifeed_devkit.testing.campaigns import in_campaigns

_GOALS = {
    "states": "events/s, unknown URLs",
    "downloads": "downloads/s, ours, 320 px as JPEG",
    "serving": "GET/s of a cached picture, ours",
}


def test_pictures_of_its_hosts_are_whole_and_no_two_the_same() -> None:
    content = encoded(drawing(), SIZE_BYTES)
    assert SIZE_BYTES * 0.8 < len(content) <= SIZE_BYTES
    pixels = set()
    for number in (0, 1, 156, 1_000_000):
        with Image.open(io.BytesIO(numbered(content, number))) as picture:
            pixels.add(picture.tobytes())
    assert len(pixels) == 4


@pytest.mark.slow
@in_campaigns
def test_it_runs_in_its_smallest_size() -> None:
    command = [sys.executable, "-m", "bench.pictures", "--smoke", *_GOALS]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=550)
    assert ran.returncode == 0, ran.stderr
    rows = {row["name"] for row in json.loads(ran.stdout.splitlines()[-1])["rows"]}
    assert set(_GOALS.values()) <= rows
