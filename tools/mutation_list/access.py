"""Tokens, and who may call what."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON

_STREAM_TESTS: Final = "tests/contract/protos/test_refused_streams.py"
_TEAM_TESTS: Final = "libs/common/tests/unit/auth/test_team_tokens.py"

MUTATIONS: Final = (
    Mutation(
        "refused-while-the-caller-writes",
        "Access",
        "A caller that streams requests gets INTERNAL instead of the reason why it is refused.",
        f"{COMMON}/rpc/interceptor.py",
        before="if self._streaming:",
        after="if False:",
        tests=(f"{_STREAM_TESTS}::test_a_caller_that_still_writes_gets_the_refusal",),
    ),
    Mutation(
        "refusal-after-the-last-request-only",
        "Access",
        "A caller that never ends its stream is never refused, and the service reads for as long as it writes.",
        f"{COMMON}/rpc/refused_streams.py",
        before="while left_bytes > 0 and loop.time() < ends_at:",
        after="while True:",
        tests=(f"{_STREAM_TESTS}::test_a_caller_that_never_stops_is_refused",),
    ),
    Mutation(
        "refusal-behind-damaged-requests",
        "Access",
        "A caller whose requests cannot be parsed gets INTERNAL instead of the reason why it is refused.",
        f"{COMMON}/rpc/refused_streams.py",
        before="if isinstance(error, DecodeError):",
        after="if False:",
        tests=(f"{_STREAM_TESTS}::test_requests_that_cannot_be_parsed_hide_no_refusal",),
    ),
    Mutation(
        "token-that-no-list-has",
        "Access",
        "A list of tokens that was lost, made anew or put back revives revoked tokens.",
        f"{COMMON}/auth/token_records.py",
        before="if token_id in self._good:",
        after="if token_id in self._good or not (self._fault or token_id in self._revoked):",
        tests=(f"{_TEAM_TESTS}::test_a_token_is_good_only_while_the_file_lists_it",),
    ),
    Mutation(
        "tokens-good-without-a-list",
        "Access",
        "Without the file of tokens, or with a damaged one, revoked tokens work again.",
        f"{COMMON}/auth/token_records.py",
        before="if token_id in self._good:",
        after="if token_id in self._good or self._fault:",
        tests=(f"{_TEAM_TESTS}::test_without_a_list_every_token_of_a_team_is_refused_and_those_of_services_are_not",),
    ),
    Mutation(
        "list-of-tokens-made-at-each-start",
        "Access",
        "A start makes an empty list where the list of tokens was lost, and nobody notices.",
        f"{COMMON}/auth/keys.py",
        before='if OPERATOR in made and not any(key["owner"] == OPERATOR for key in published):',
        after="if not (directory / RECORDS_FILE).exists():",
        tests=(f"{_TEAM_TESTS}::test_a_list_of_tokens_is_made_with_the_operators_first_key_only",),
    ),
    Mutation(
        "lost-tokens-unnamed",
        "Access",
        "`status` does not say that the list of tokens is lost.",
        "cli/src/classifeed_cli/platform/probing/examination.py",
        before='return Health("RUNNING", tuple(_examine_tokens(document)))',
        after='return Health("RUNNING")',
        tests=(
            "cli/tests/unit/platform/probing/test_examination.py::test_a_lost_list_of_tokens_is_named_with_what_to_do",
        ),
    ),
    Mutation(
        "public-keys-lost-at-a-start",
        "Access",
        "A start without the file of public keys makes an empty one, and no service can call another.",
        f"{COMMON}/auth/keys.py",
        before='for path in sorted(directory.glob("*.pem"))]',
        after="for path in ()]",
        tests=(f"{_TEAM_TESTS}::test_public_keys_that_are_missing_are_made_from_the_private_ones",),
    ),
)
