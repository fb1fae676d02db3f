"""Benchmarks and tools explain themselves, and refuse arguments that they do not know."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
MODULES: Final = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
    for pattern in ("bench/*/__main__.py", "tools/**/*.py")
    for path in ROOT.glob(pattern)
    if '__name__ == "__main__"' in path.read_text("utf-8")
)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")  # another test has imported it
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(("argument", "exit_code"), [("--help", 0), ("--unknown", 2)])
def test_arguments_are_read_before_anything_is_done(
    module: str, argument: str, exit_code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", [module, argument])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(module, run_name="__main__")
    assert ended.value.code == exit_code
    out = capsys.readouterr()
    assert "usage:" in (out.out or out.err)
