"""The page of reasons has every reason of an error with cause and fix, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.checks.reasons import SERVICE_ERRORS, Raised, collect, sources

from classifeed_common.errors import KINDS, kind_of
from tests.docs.pages import REFERENCE, Entry, entries

PAGE = REFERENCE / "reasons.md"
COMMAND_LINE = "The command line"
# Errors that a module passes on, by module and expression.
PASSED_ON = {
    # Codes of internal download faults: the job retries, and no caller sees them.
    ("services/loader/src/classifeed_loader/app/store_file.py", "failed.code"),
    # The error of the supervisor, printed by the command that waits for it.
    ("cli/src/classifeed_cli/platform/supervision/daemon.py", "error['reason']"),
    # An error of a service, printed by the command line.
    ("cli/src/classifeed_cli/main.py", "error.reason"),
    # The problem document of pictures.
    ("cli/src/classifeed_cli/platform/picture_bytes.py", "reason"),
    # The fault of an uploaded picture has a code of downloads.
    ("services/pictures/src/classifeed_pictures/app/files/put_picture.py", "failed.code"),
}


@pytest.fixture(scope="module")
def raised() -> list[Raised]:
    return collect(sources())


@pytest.fixture(scope="module")
def page() -> list[Entry]:
    return entries(PAGE)


def test_page_and_code_have_the_same_reasons(raised: list[Raised], page: list[Entry]) -> None:
    in_code = {each.reason for each in raised if each.reason}
    on_page = [entry.name for entry in page]
    assert sorted(on_page) == sorted(set(on_page)), "a reason is on the page twice"
    assert in_code - set(on_page) == set(), "give each a cause and a fix in docs/reference/reasons.md"
    assert set(on_page) - in_code == set(), "the code raises none of these"


def test_no_reason_is_hidden_from_the_collector(raised: list[Raised]) -> None:
    hidden = {(each.place.rpartition(":")[0], each.expression) for each in raised if not each.reason}
    assert hidden == PASSED_ON


def test_each_reason_stands_under_its_kind(raised: list[Raised], page: list[Entry]) -> None:
    kinds: dict[str, set[str]] = {}
    for each in raised:
        if each.maker in SERVICE_ERRORS and not each.place.startswith(("cli/", "libs/client/")):
            kinds.setdefault(each.reason, set()).add(each.maker)
    wrong = {e.name: e.section for e in page if {e.section} != kinds.get(e.name, {COMMAND_LINE})}
    assert wrong == {}


def test_sections_name_the_codes_of_their_kind() -> None:
    text = PAGE.read_text("utf-8")
    for kind in KINDS:
        code, status = kind_of(kind("X", "x"))
        section = text.partition(f"\n## {kind.__name__}\n")[2].partition("\n###")[0]
        assert f"gRPC {code}, HTTP {status}." in " ".join(section.split()), kind.__name__


def test_each_entry_has_a_cause_and_a_fix(page: list[Entry]) -> None:
    shape = re.compile(r"\n- Cause: [^\n]+(\n  [^\n]+)*\n- Fix: [^\n]+(\n  [^\n]+)*\n+")
    assert [entry.name for entry in page if shape.fullmatch(entry.text) is None] == []


def test_collector_follows_constants_choices_and_parameters(tmp_path: Path) -> None:
    module = tmp_path / "services/x/src/x.py"
    module.parent.mkdir(parents=True)
    module.write_text(
        'GONE = "IT_IS_GONE"\n'
        "def wrong(field, words):\n"
        '    return InvalidArgument(f"{field.upper()}_INVALID", words)\n'
        "def name(field):\n"
        '    raise wrong(field, "no")\n'
        "def ask(it):\n"
        '    name("parent")\n'
        '    raise wrong(words="no", field="page_token")\n'
        '    raise NotFound(GONE, "x")\n'
        '    raise errors.Aborted("ONE" if it else "OTHER", "x")\n'
        "    raise Unavailable(it.reason, it.words)\n"
    )
    found = {(each.maker, each.reason) for each in collect([module], tmp_path)}
    assert found == {
        ("InvalidArgument", "PARENT_INVALID"),
        ("InvalidArgument", "PAGE_TOKEN_INVALID"),
        ("NotFound", "IT_IS_GONE"),
        ("Aborted", "ONE"),
        ("Aborted", "OTHER"),
        ("Unavailable", ""),
    }


def test_a_reason_is_found_where_another_module_gives_a_part_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "services/x/src/x"
    folder.mkdir(parents=True)
    (folder / "fields.py").write_text('def wrong(field):\n    return InvalidArgument(f"{field.upper()}_INVALID", "")\n')
    (folder / "names.py").write_text("from x.fields import wrong\ndef name_of(field):\n    raise wrong(field)\n")
    (folder / "tasks.py").write_text('from x.names import name_of\nname_of("parent")\n')
    (folder / "others.py").write_text('from y.names import name_of\nname_of("other")\n')
    found = collect(folder.glob("*.py"), tmp_path)
    assert [(each.reason, each.place) for each in found] == [("PARENT_INVALID", "services/x/src/x/fields.py:2")]
