"""The rules of `tools/furniture` find names that differ from the shared conventions, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from tools.furniture.__main__ import find
from tools.furniture.areas import ROOT, Finding, Module
from tools.furniture.cache import find_cached
from tools.furniture.folders import check_folders, check_mirrors
from tools.furniture.rules import FAULT_LOOPS, fault_loops
from tools.furniture.words import check_comments, check_prose

_SERVICER = "from x_pb2_grpc import OfferServiceServicer\n"
_RPC = "services/offers/src/classifeed_offers/rpc"
_API = "services/api/src/classifeed_api"


def rules_broken(path: str, text: str) -> list[str]:
    return [finding.rule for finding in find([Module.of(path, text)])]


@pytest.mark.parametrize(
    ("rule", "path", "right", "wrong"),
    [
        (
            "servicer", f"{_RPC}/offer_service.py",
            f"{_SERVICER}class OfferService(OfferServiceServicer): ...",
            f"{_SERVICER}class OfferRpc(OfferServiceServicer): ...",
        ),
        (
            "client", f"{_API}/clients/offers.py",
            "from x_pb2_grpc import OfferServiceStub\nclass OffersClient: ...",
            "from x_pb2_grpc import OfferServiceStub\nclass Offers: ...",
        ),
        ("role", f"{_API}/bootstrap.py", 'SERVICE = "api"\nRole("reap", run)', 'SERVICE = "api"\nRole("reaper", run)'),
        (
            "role", f"{_API}/bootstrap.py",
            'SERVICE = "api"\nRole(f"consume-{client}", run)', 'SERVICE = "api"\nRole(f"sink-{client}", run)',
        ),
        (
            "start", f"{_API}/bootstrap.py",
            'SERVICE = "api"\nasync def start(): await database.open()',
            'SERVICE = "api"\nasync def start(): await blobs.open()',
        ),
        (
            "start", f"{_API}/parts.py",
            "class Parts:\n  async def open(self): await self.database.open()",
            "class Parts:\n  async def open(self): await self.blobs.open()",
        ),
        ("composition", f"{_API}/bootstrap.py", 'SERVICE = "api"\n' + "\n" * 59, 'SERVICE = "api"\n' + "\n" * 60),
        ("composition", f"{_API}/parts/jobs.py", "def f():\n" + "  a()\n" * 59, "def f():\n" + "  a()\n" * 60),
        ("SQL", f"{_API}/app/run_feed.py", "await add_run(tx, run)", "await tx.execute(SQL, run)"),
        ("SQL", f"{_API}/app/run_feed.py", "runs = list_runs", 'SQL = load_queries("classifeed_api.store")'),
        ("back-off", f"{_API}/app/run_feed.py", "pause_s = backoff.next_s()", "pause_s = min(pause_s * 2, 5)"),
        ("back-off", f"{_API}/app/run_feed.py", "wait_s = 2 * period_s", "self._wait_s = min(5, 2 ** attempts)"),
        (
            "fault loop", f"{_API}/app/run_feed.py",
            "while rows:\n  try: f()\n  except ValueError: rows.pop()",
            "while rows:\n  try: f()\n  except ValueError as e: log_fault(_log, 'feed.failed', e)",
        ),
        (
            "fault loop", "libs/jobs/src/classifeed_jobs/worker/run.py",
            "for row in rows:\n  try: f()\n  except ValueError: _log.info('row.failed')",
            "while True:\n  if a:\n    try: f()\n    except ValueError: await asyncio.sleep(1)",
        ),
        ("log event", f"{_API}/app/run_feed.py", '_log.info("feed.run.made", a=1)', '_log.info("a run was made", a=1)'),
        ("log event", f"{_API}/app/run_feed.py", 'self._log.info("feed.made")', 'self._log.info(f"feed.{what}")'),
        ("log event", f"{_API}/app/run_feed.py", 'log_fault(_log, "feed.failed", e)', 'log_fault(_log, "failed", e)'),
        ("variable", f"{_API}/app/run_feed.py", "def f(database: Database): ...", "def f(db: Database): ..."),
        ("variable", f"{_API}/app/run_feed.py", "class A:\n  database: Database", "class A:\n  db: Database"),
        ("variable", f"{_API}/bootstrap.py", 'SERVICE = "api"', '_SERVICE = "api"'),
        (
            "variable", f"{_API}/bootstrap.py",
            'SERVICE = "api"\nServiceRunner(on_stop=stop)', 'SERVICE = "api"\nServiceRunner(on_stop=close)',
        ),
        ("variable", f"{_API}/__main__.py", "main(prepare=prepare)", "main(prepare=make_topics)"),
        (
            "migration", f"{_API}/migrations/versions/20261129_1_pre_x.py",
            "def upgrade(): ...", "def upgrade(): ...\ndef downgrade(): ...",
        ),
        ("word", "cli/src/classifeed_cli/views/run.py", "class Request: ...", "class AskedRun: ..."),
        ("word", "cli/src/classifeed_cli/views/run.py", "def f(request): ...", "def f(asked): ..."),
        ("word", "cli/tests/run.py", "class A:\n  stage: str", "class A:\n  fate: str"),
        ("word", "tests/run.py", "def f(self): self._outcome = 1", "def f(self): self._fate = 1"),
        ("message", f"{_API}/app/run_feed.py", 'Fault("The load continues.")', 'Fault("The load goes on.")'),
        ("message", f"{_API}/app/run_feed.py", 'Fault(f"{peer} does not respond")', 'Fault(f"{peer} does not answer")'),
        ("message", f"{_API}/app/run_feed.py", 'a = "Requested again."', 'a = (\n  "Asked "\n  "again."\n)'),
        (
            "message", "cli/src/classifeed_cli/commands/run.py",
            'def show():\n  """Print the outcome."""', 'def show():\n  """Print what became of it."""',
        ),
    ],
)  # fmt: skip
def test_a_rule_finds_what_breaks_it(rule: str, path: str, right: str, wrong: str) -> None:
    assert rules_broken(path, right) == []
    assert rules_broken(path, wrong) == [rule]


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (
            "servicer",
            f"{_RPC}/offers.py",
            f"{_SERVICER}class OfferService(OfferServiceServicer): ...",
        ),
        ("client", f"{_API}/rpc/methods.py", "from x_pb2_grpc import OfferServiceStub"),
        ("client", f"{_API}/clients/loads.py", "from x_pb2_grpc import OfferServiceStub\nclass OffersClient: ..."),
        ("word", "cli/src/classifeed_cli/views/lanes.py", ""),
        ("use case", f"{_API}/app/feeds/verifying.py", ""),
        ("use case", f"{_API}/app/task_signals.py", ""),
    ],
)
def test_the_place_of_a_module_counts(rule: str, path: str, text: str) -> None:
    assert rules_broken(path, text) == [rule]


def test_loops_of_the_library_may_continue_after_faults() -> None:
    text = "while True:\n  try: f()\n  except ValueError: await asyncio.sleep(1)"
    assert not rules_broken("libs/common/src/classifeed_common/loops/retrying.py", text)
    assert not rules_broken("services/api/tests/unit/test_run.py", text)


@pytest.mark.parametrize("path", FAULT_LOOPS)
def test_each_exception_of_fault_loops_is_needed(path: str) -> None:
    assert list(fault_loops(Module.of(path, (ROOT / path).read_text())))


def test_names_of_tests_and_stored_names_may_have_any_word() -> None:
    assert not rules_broken("cli/tests/test_run.py", "def test_a_caller_is_told(): ...")
    assert not rules_broken(f"{_API}/store/feeds.py", "class Row:\n  sealed_credentials: bytes")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{_API}/app/run_feed.py", '"""It goes on."""\ndef f():\n  """It goes on."""'),
        (f"{_API}/app/run_feed.py", 'class A:\n  x: int\n  """How it goes on."""'),
        ("cli/src/classifeed_cli/commands/run.py", 'def _show():\n  """Print what became of it."""'),
        (f"{_API}/app/run_feed.py", 'KEY = "asked"'),
        (f"{_API}/app/run_feed.py", 'log.info("task.answers.taken")'),
        (f"{_API}/tests/unit/test_run.py", 'assert f() == "The load goes on."'),
    ],
    ids=("docstrings", "of an attribute", "of no command", "a name", "an event", "a test"),
)
def test_what_nobody_reads_as_a_message_may_have_any_phrase(path: str, text: str) -> None:
    assert rules_broken(path.replace("/src/classifeed_api/tests", "/tests"), text) == []


@pytest.mark.parametrize(
    ("folder", "count", "flat", "is_found"),
    [
        (f"{_API}/app", 12, (), False),
        (f"{_API}/app", 13, (), True),
        (f"{_API}/app", 13, (f"{_API}/app",), False),
        (f"{_API}/app", 12, (f"{_API}/app",), True),
        (f"{_API}/migrations/versions", 13, (), False),
        ("services/api/tests/integration", 12, (), False),
        ("services/api/tests/integration", 13, (), True),
        ("tests/contract", 13, (), True),
        ("tests/e2e", 13, ("tests/e2e",), False),
        ("bench/feeds", 13, (), False),
    ],
    ids=(
        "a dozen",
        "one more",
        "with a reason",
        "with a needless reason",
        "migrations",
        "a dozen tests",
        "one more test",
        "one more test of the whole",
        "tests with a reason",
        "benchmarks",
    ),
)
def test_past_a_dozen_modules_a_folder_needs_packages_or_a_reason(
    folder: str, count: int, flat: tuple[str, ...], is_found: bool
) -> None:
    names = ["__init__", "__main__", *(f"module_{at}" for at in range(count))]
    found = list(check_folders([Module.of(f"{folder}/{name}.py", "") for name in names], dict.fromkeys(flat, "")))
    assert bool(found) is is_found


@pytest.mark.parametrize(
    ("test", "is_found"),
    [("unit/app/test_run.py", False), ("unit/test_run.py", False), ("unit/runs/test_run.py", True)],
)
def test_folders_of_unit_tests_mirror_packages(test: str, is_found: bool) -> None:
    paths = [f"{_API}/app/run_feed.py", "services/loader/src/classifeed_loader/runs/x.py", f"services/api/tests/{test}"]
    assert bool(list(check_mirrors([Module.of(path, "") for path in paths]))) is is_found


def test_comments_of_sql_have_the_terms_of_the_field() -> None:
    text = "SELECT 'asked' AS told -- The parker is asked; `said` is a column.\n-- It turns to all that looked good.\n"
    found = [(finding.line, finding.fix.split(":")[0]) for finding in check_comments("x.parts", text)]
    assert found == [(1, "instead of parker"), (1, "instead of asked")]
    assert list(check_comments("x.sql", f"-- Made from x.parts by a tool\n{text}")) == []


def test_comments_and_docstrings_have_the_terms_of_the_field() -> None:
    text = (
        '"""A claim has a fate: `parked`."""\n'
        "class Counts:\n"
        '    """Counts.\n\n    Attributes:\n        parked: Jobs that were freed.\n    """\n\n'
        "    asked: int\n"
        '    """How often it answers."""\n\n'
        "TEXT = 'It said # so.'  # as the ticket said, in turn\n"
    )
    found = [(finding.line, finding.fix.split(":")[0]) for finding in check_prose(Module.of("tools/x.py", text))]
    assert sorted(found) == [
        (1, "instead of fate"), (6, "instead of freed"), (10, "instead of answers"), (12, "instead of ticket")
    ]  # fmt: skip


def test_modules_that_did_not_change_are_not_checked_again(tmp_path: Path) -> None:
    file, checked = tmp_path / "cache" / "findings.json", 0

    def count(modules: Iterable[Module]) -> list[Finding]:
        nonlocal checked
        checked += 1
        return find(modules)

    good, bad = (Module.of("cli/tests/run.py", f"class A:\n  {name}: str") for name in ("stage", "fate"))
    first = find_cached([good, bad], count, file)
    assert ([finding.rule for finding in first], checked) == (["word"], 2)
    assert (find_cached([good, bad], count, file), checked) == (first, 2)
    changed = Module.of("cli/tests/run.py", "class A:\n  walk: str")
    assert ([finding.line for finding in find_cached([good, changed], count, file)], checked) == ([2], 3)
    file.write_text("{")
    assert (find_cached([bad], count, file), checked) == (first, 4)
