"""Automatic rules."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import CLEANWEB

_CLEANWEB_TESTS: Final = "services/cleanweb/tests/unit/automatics"

MUTATIONS: Final = (
    Mutation(
        "rules-span-in-the-view",
        "Automatic rules",
        "The place of a finding counts only the characters that a reader sees, not those of the text.",
        f"{CLEANWEB}/automatics/terms.py",
        before="    if view.places is not None:\n        begin, end",
        after="    if view.places is not None and view.name == 'none':\n        begin, end",
        tests=(f"{_CLEANWEB_TESTS}/test_obfuscations.py::test_a_hidden_term_is_found_where_it_stands",),
    ),
    Mutation(
        "rules-marks-left-outside",
        "Automatic rules",
        "A finding ends before the accents of its last letter.",
        f"{CLEANWEB}/automatics/terms.py",
        before="return Hit(term, begin, _with_marks(text, end))",
        after="return Hit(term, begin, end)",
        tests=(f"{_CLEANWEB_TESTS}/test_obfuscations.py::test_a_hidden_term_is_found_where_it_stands",),
    ),
    Mutation(
        "rules-by-classes-alone",
        "Automatic rules",
        "A text with the same classes of letters as a term is a finding, even if its letters differ.",
        f"{CLEANWEB}/automatics/terms.py",
        before=" and is_written(term.letters, characters):",
        after=":",
        tests=(f"{_CLEANWEB_TESTS}/test_judge.py::test_traps_pass",),
    ),
    Mutation(
        "rules-allow-nothing",
        "Automatic rules",
        "A part of an allowed word is a finding.",
        f"{CLEANWEB}/automatics/judge.py",
        before="if found and Role.ALLOW in hits:",
        after="if found and None in hits:",
        tests=(f"{_CLEANWEB_TESTS}/test_judge.py::test_an_allowed_word_beats_a_piece_of_it_and_nothing_else",),
    ),
    Mutation(
        "rules-unbounded-gap",
        "Automatic rules",
        "A text with a long gap between digits is scanned again from each position.",
        f"{CLEANWEB}/automatics/addresses/phones.py",
        before="\\u2010-\\u2015]{0,3}",
        after="\\u2010-\\u2015]*",
        tests=(f"{_CLEANWEB_TESTS}/test_steps.py::test_every_repeat_of_a_regular_expression_is_bounded",),
    ),
    Mutation(
        "rules-names-of-any-length",
        "Automatic rules",
        "For each dot, a text without spaces is scanned back to its beginning.",
        f"{CLEANWEB}/automatics/addresses/links.py",
        before="while start > 0 and end - start < _MAX_NAME and",
        after="while start > 0 and",
        tests=(f"{_CLEANWEB_TESTS}/test_steps.py::test_twice_the_text_takes_twice_the_steps",),
    ),
    Mutation(
        "rules-fault-without-path",
        "Automatic rules",
        "The refusal of a notation that cannot be expanded lacks its place.",
        f"{CLEANWEB}/automatics/rules_file.py",
        before="raise DocumentFault(str(error), (*path, number)) from error",
        after="raise DocumentFault(str(error)) from error",
        tests=(f"{_CLEANWEB_TESTS}/test_rules_file.py::test_a_wrong_file_is_refused_with_line_and_path",),
    ),
)
