from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from classifeed_common.spool import run_folder, sweep_spool

HOLD = """
import sys, time
from pathlib import Path
from classifeed_common.spool import run_folder
with run_folder(Path(sys.argv[1])) as folder:
    (folder / "source").write_bytes(b"x")
    print("held", flush=True)
    time.sleep(600)
"""


def test_what_a_killed_process_left_is_swept_and_what_runs_is_not(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with run_folder(tmp_path) as ours:
            assert sweep_spool(tmp_path) == 0
            process.send_signal(signal.SIGKILL)
            process.wait(90)
            assert sweep_spool(tmp_path) == 1
            assert list(tmp_path.iterdir()) == [ours]
    assert list(tmp_path.iterdir()) == []
    assert sweep_spool(tmp_path / "none") == 0
