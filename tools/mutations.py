"""Mutations: deliberate defects in the mechanisms, and the tests that must fail for each.

    python -m tools.mutations [NAME ...]      run them (`make mutants`, `make mutants ONLY="name other"`)

The tool first runs the tests of the mutations on unchanged code, where they must pass. Then it runs the tests of each
mutation. The exit code is 1 if the tests of a mutation do not fail.

It applies a mutation to a copy of its distribution, which the tests import instead of the original. It never
changes the working tree, so an interrupted run leaves no mutated source, and several mutations can run at a time.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.arguments import parser_of
from tools.mutation_list import MUTATIONS, Mutation

ROOT: Final = Path(__file__).parents[1]

CAUGHT: Final = "CAUGHT"
NOT_CAUGHT: Final = "NOT CAUGHT"
BROKEN: Final = "BROKEN"

_PROCESSES: Final = 2  # tests mostly wait for their servers
_LIMIT_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of a run of tests under a mutation.

    Attributes:
        word: CAUGHT, NOT CAUGHT, or BROKEN (the tests did not run).
        detail: the failed test, or the last lines of the output.
    """

    word: str
    detail: str


def fits(mutation: Mutation) -> bool:
    """Return whether the text to replace occurs exactly once in the mutation's file."""
    return (ROOT / mutation.file).read_text("utf-8").count(mutation.before) == 1


def missing_tests(mutation: Mutation) -> list[str]:
    """Return the tests of a mutation that are not in their files."""
    missing = []
    for test in mutation.tests:
        path, _, name = test.partition("::")
        file = ROOT / path
        if not file.exists() or f"def {name.partition('[')[0]}(" not in file.read_text("utf-8"):
            missing.append(test)
    return missing


def run(mutation: Mutation) -> Verdict:
    """Run the tests of a mutation against a mutated copy of the code. This blocks for at most 10 minutes."""
    if not fits(mutation):
        return Verdict(BROKEN, f"the text to replace does not occur exactly once in {mutation.file}")
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        source = _source_of(mutation.file)
        copy = Path(folder, "src")
        shutil.copytree(ROOT / source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        mutated = copy / Path(mutation.file).relative_to(source)
        mutated.write_text(mutated.read_text("utf-8").replace(mutation.before, mutation.after), "utf-8")
        return _test(mutation.tests, Path(folder), first=copy)


def run_unmutated(mutations: Sequence[Mutation]) -> Verdict:
    """Run the tests of mutations against the unchanged code; the expected outcome is NOT CAUGHT."""
    tests = sorted({test for mutation in mutations for test in mutation.tests})
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        return _test(tests, Path(folder), first=None)


def _source_of(file: str) -> Path:
    """Return the folder of a distribution's packages, which is on the import path."""
    parts = Path(file).parts
    return Path(*parts[: parts.index("src") + 1])


def _test(tests: Sequence[str], folder: Path, *, first: Path | None) -> Verdict:
    report = folder / "report.xml"
    environment = {"CLASSIFEED_CAMPAIGN": "short"} | os.environ  # only campaigns catch some mutations
    if first is not None:
        environment["PYTHONPATH"] = os.pathsep.join([str(first), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"--junitxml={report}", *tests]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as tests_under_way:
        try:
            output, _ = tests_under_way.communicate(timeout=_LIMIT_S)
        except subprocess.TimeoutExpired:
            tests_under_way.send_signal(signal.SIGINT)  # not SIGKILL: the tests have servers to stop
            tests_under_way.communicate()
            return Verdict(BROKEN, f"not done within {_LIMIT_S:.0f} s")
    if tests_under_way.returncode == 0:
        return Verdict(NOT_CAUGHT, "")
    failed = list(_failed(report)) if report.exists() else []
    if failed:
        return Verdict(CAUGHT, failed[0])
    return Verdict(BROKEN, "\n".join(output.splitlines()[-20:]))


def _failed(report: Path) -> Iterator[str]:
    """Yield the failed tests, without tests that could not start."""
    for case in ET.parse(report).iter("testcase"):
        if case.find("failure") is not None:
            yield str(case.get("name"))


def main() -> int:
    """Run the command line; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutations to run; all of them if none is named")
    parser.add_argument("--processes", type=int, default=_PROCESSES, help="how many run at a time (default: 2)")
    options = parser.parse_args()
    if unknown := set(options.names) - {mutation.name for mutation in MUTATIONS}:
        parser.error(f"there is no mutation {', '.join(sorted(unknown))}; tools/mutation_list has them all")
    return _run_all([it for it in MUTATIONS if not options.names or it.name in options.names], options.processes)


def _run_all(mutations: Sequence[Mutation], processes: int) -> int:
    began_s = time.monotonic()
    # Threads run the tests. On Ctrl-C the tests get the signal, too, and the program waits until their servers stop.
    with ThreadPoolExecutor(processes) as pool:
        try:
            unmutated = pool.submit(run_unmutated, mutations).result()
            if unmutated.word != NOT_CAUGHT:
                print(f"the tests fail on unchanged code, so they prove nothing: {unmutated.detail}", flush=True)
                return 1
            print(f"without a mutation: passed ({time.monotonic() - began_s:.0f} s)", flush=True)
            caught = _run_mutated(pool, mutations)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            return 130
    minutes, seconds = divmod(round(time.monotonic() - began_s), 60)
    print(f"{caught} of {len(mutations)} caught in {minutes} min {seconds} s", flush=True)
    return 0 if caught == len(mutations) else 1


def _run_mutated(pool: ThreadPoolExecutor, mutations: Sequence[Mutation]) -> int:
    """Print a line for each mutation when its tests end, and return the number of caught mutations."""
    runs = {pool.submit(run, mutation): mutation for mutation in mutations}
    caught = 0
    for done in as_completed(runs):
        verdict = done.result()
        print(f"{verdict.word:<10}  {runs[done].name}  {verdict.detail}", flush=True)
        caught += verdict.word == CAUGHT
    return caught


if __name__ == "__main__":
    sys.exit(main())
