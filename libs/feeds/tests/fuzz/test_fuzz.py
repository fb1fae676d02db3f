"""The readers raise only faults of the file: some seconds by default, a minute with CLASSIFEED_CAMPAIGN=long.

The fuzzer runs in a separate process, so that a crash or a hang of a parser is found, too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from classifeed_devkit.testing.campaigns import IS_LONG, in_campaigns

ROOT = Path(__file__).parents[4]
FUZZER = "libs.feeds.tests.fuzz"
SECONDS = 60.0 if IS_LONG else 5.0
SEED = os.environ.get("CLASSIFEED_SEED", "20261122")
# No input takes so long, on a machine that may be ten times slower.
STALLED_S = 240.0


class Found(Exception):
    """The fuzzer found something."""


def run_fuzzer(folder: Path, *options: str) -> str:
    """Return the output of the fuzzer; raise with it if there was a fault, a crash or a hang."""
    progress, log = folder / "progress", folder / "log"
    with log.open("wb") as output:
        command = [sys.executable, "-m", FUZZER, "--progress", str(progress), "--save", str(folder / "found"), *options]
        fuzzer = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT)
        seen, since = "", time.monotonic()
        try:
            while fuzzer.poll() is None:
                now = progress.read_text() if progress.exists() else ""
                if now != seen:
                    seen, since = now, time.monotonic()
                if time.monotonic() - since > STALLED_S:
                    raise Found(f"--replay {seen.strip()} hangs\n{log.read_text()}")
                time.sleep(0.2)
        finally:
            fuzzer.kill()
            fuzzer.wait()
    said = log.read_text()
    if fuzzer.returncode < 0:
        raise Found(f"--replay {seen.strip()} ends the process by signal {-fuzzer.returncode}\n{said}")
    if fuzzer.returncode:
        raise Found(said)
    return said


@pytest.mark.slow
def test_only_faults_of_the_file_leave_the_readers(tmp_path: Path) -> None:
    said = run_fuzzer(tmp_path, "--seed", SEED, "--seconds", str(SECONDS))
    sys.stdout.write(said)
    assert " 0 distinct faults" in said
    assert "loaded" in said


BREAKS = {
    "an exception": "from classifeed_feeds.scanning import tree_scan\ntree_scan.shown = lambda name: 1 / 0",
    "an offer that is lost": "from classifeed_feeds import second_pass as it\nfinalize = it.finalize\n"
    "def lossy(batch, *rest):\n    del batch.records[2:]\n    return finalize(batch, *rest)\nit.finalize = lossy",
    "a crash": "import os\nfrom libs.feeds.tests.fuzz import reading as it\nit.locate_offer = lambda *_: os.abort()",
}


@pytest.mark.slow
@pytest.mark.skipif(SECONDS == 5, reason="campaigns have it")
@pytest.mark.parametrize("kind", BREAKS)
def test_the_fuzzer_sees_what_is_broken(tmp_path: Path, kind: str) -> None:
    with pytest.raises(Found) as caught:
        run_fuzzer(tmp_path, "--seed", "1", "--seconds", "5", "--break", BREAKS[kind])
    assert "--replay 1:" in str(caught.value)


@in_campaigns
def test_one_input_is_read_again_by_its_seed(tmp_path: Path) -> None:
    first, second = (run_fuzzer(tmp_path, "--replay", "7:12") for _ in range(2))
    outcome = first.rpartition("; ")[2]
    assert second.endswith(outcome)
    assert "1 inputs" in first
