"""Reading feeds."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation

_FEED: Final = "libs/feeds/src/classifeed_feeds"
_PLAIN: Final = f"{_FEED}/scanning/plain_offers.py"
_PLAIN_TESTS: Final = "libs/feeds/tests/unit/scanning/test_plain_offers.py"

MUTATIONS: Final = (
    Mutation(
        "elements-overlooked",
        "Reading feeds",
        "Elements that a pattern does not match are silently missing in their offer.",
        _PLAIN,
        before='    if source.count("<") != 2 * len(rows) + 2:\n        return None\n',
        after="",
        tests=(f"{_PLAIN_TESTS}::test_the_pattern_reads_what_the_parser_reads",),
    ),
    Mutation(
        "schema-passed-by",
        "Reading feeds",
        "A value that the schema refuses is accepted if its offer is read without the schema.",
        _PLAIN,
        before="                if _QUANTITY.fullmatch(text) is None:",
        after="                if len(text) > most:",
        tests=(f"{_PLAIN_TESTS}::test_what_the_rules_accept_the_schema_accepts",),
    ),
    Mutation(
        "declared-elsewhere",
        "Reading feeds",
        "An offer of a file with namespaces is read as if its source had all declarations.",
        f"{_FEED}/first_pass.py",
        before="is_self_contained=not reader.wants_second_look and not reader.has_namespaces",
        after="is_self_contained=not reader.wants_second_look",
        tests=(f"{_PLAIN_TESTS}::test_what_is_declared_elsewhere_in_a_file_takes_a_parser",),
    ),
)
