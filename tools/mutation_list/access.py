"""Tokens, and who may call what."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON

_STREAM_TESTS: Final = "tests/contract/protos/test_refused_streams.py"

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
)
