"""Limits of HTTP connections, of responses in memory, and of requests."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, COMMON_TESTS, PICTURES, PICTURES_TESTS

_MECHANISM: Final = "Limits of HTTP"
_CONNECTION: Final = f"{COMMON}/http/connection.py"
_SENDING: Final = f"{COMMON}/http/sending.py"
_SLOW: Final = f"{COMMON_TESTS}/http_api/test_slow_clients.py"

MUTATIONS: Final = (
    Mutation(
        "file-sent-as-a-whole",
        _MECHANISM,
        "A large file is held in memory for each client that does not read its response.",
        _SENDING,
        before="PIECE_BYTES: Final = 64 << 10",
        after="PIECE_BYTES: Final = 64 << 20",
        tests=(f"{_SLOW}::test_200_slow_readers_cost_little_and_others_are_served",),
    ),
    Mutation(
        "responses-without-a-budget",
        _MECHANISM,
        "An unlimited number of large responses is held in memory for clients that do not read.",
        _SENDING,
        before="if self._used and self._used + len(body) > self._max_bytes:",
        after="if False:",
        tests=(f"{_SLOW}::test_200_slow_readers_cost_little_and_others_are_served",),
    ),
    Mutation(
        "slow-reader-stays",
        _MECHANISM,
        "A client that does not read its response is never disconnected.",
        _CONNECTION,
        before="elif now - self._unsent_since > limits.write_s:",
        after="elif False:",
        tests=(f"{_SLOW}::test_a_reader_that_takes_nothing_is_disconnected",),
    ),
    Mutation(
        "silent-client-stays",
        _MECHANISM,
        "A client that sends no complete request head keeps its connection.",
        _CONNECTION,
        before="self._head_since is not None and now",
        after="False and now",
        tests=(f"{_SLOW}::test_a_client_that_sends_no_request_is_disconnected",),
    ),
    Mutation(
        "connections-without-a-limit",
        _MECHANISM,
        "A process accepts an unlimited number of connections.",
        _CONNECTION,
        before="self._is_spare = len(self.connections) > self._limits.served",
        after="self._is_spare = False",
        tests=(f"{_SLOW}::test_of_too_many_connections_health_alone_is_served",),
    ),
    Mutation(
        "refused-client-is-reset",
        _MECHANISM,
        "A client that is still sending when it is refused gets a reset instead of the response.",
        _CONNECTION,
        before="if self._is_closing or self.conn.their_state not in (h11.SEND_BODY, h11.ERROR)",
        after="if self._is_closing or True",
        tests=(f"{_SLOW}::test_a_client_that_still_sends_gets_its_response",),
    ),
    Mutation(
        "unread-body-without-a-limit",
        _MECHANISM,
        "A client can send an unlimited body that the service does not read.",
        _CONNECTION,
        before="if self._discarded > self._limits.discard_bytes:",
        after="if False:",
        tests=(f"{_SLOW}::test_a_body_that_nobody_reads_is_discarded_up_to_a_limit",),
    ),
    Mutation(
        "path-with-control-characters",
        _MECHANISM,
        "NUL or a line end in a path reaches the database.",
        f"{COMMON}/http/paths.py",
        before="if (found := _CONTROLS.search(path)) is not None:",
        after="if (found := _CONTROLS.search(path)) is None and False:",
        tests=(
            "tests/contract/http/test_http_limits.py::test_paths_of_the_wrong_form_are_refused_and_never_a_fault_or_a_reset",
        ),
    ),
    Mutation(
        "number-of-any-length-in-a-path",
        _MECHANISM,
        "A number with thousands of digits in a path is an internal fault.",
        f"{COMMON}/http/paths.py",
        before='regex = "[0-9]{1,18}"',
        after='regex = "[0-9]+"',
        tests=(
            "tests/contract/http/test_http_limits.py::test_paths_of_the_wrong_form_are_refused_and_never_a_fault_or_a_reset",
        ),
    ),
    Mutation(
        "form-of-any-length",
        _MECHANISM,
        "A form without an end is read without a limit.",
        f"{COMMON}/http/api/bodies.py",
        before="            if left_bytes < 0:\n",
        after="            if left_bytes < 0 and self._max_bytes < 1 << 20:\n",
        tests=("tests/contract/http/test_http_limits.py::test_a_body_without_an_end_is_refused_at_a_limit",),
    ),
    Mutation(
        "requests-without-a-budget",
        _MECHANISM,
        "An unlimited number of large bodies is in memory at the same time.",
        f"{COMMON}/http/receiving.py",
        before="if self._used > counted and self._used + more > self._max_bytes:",
        after="if False:",
        tests=("libs/common/tests/unit/http/test_receiving.py::test_bodies_of_all_requests_have_a_budget",),
    ),
    Mutation(
        "unknown-path-is-415",
        _MECHANISM,
        "A request for an unknown path is refused because of its content type.",
        f"{COMMON}/http/browser_guard.py",
        before="if is_safe or all(",
        after="if is_safe or None in (",
        tests=(
            "libs/common/tests/unit/http/test_browser_guard.py::test_an_unknown_path_is_404_whatever_is_sent_there",
        ),
    ),
    Mutation(
        "urls-read-in-one-turn",
        _MECHANISM,
        "A request with a thousand long URLs blocks the process, including its health checks.",
        f"{PICTURES}/app/states/find_states.py",
        before="canonical = await map_yielding(partial(canonical_url, rules=rules), urls)",
        after="canonical = [canonical_url(url, rules) for url in urls]",
        tests=(f"{PICTURES_TESTS}/integration/http/test_event_loop.py::test_no_route_holds_the_event_loop",),
    ),
    Mutation(
        "urls-of-any-size",
        _MECHANISM,
        "A request may contain megabytes of URLs.",
        f"{PICTURES}/domain/urls/sizes.py",
        before="if size > URLS_LIMIT_BYTES:",
        after="if False:",
        tests=(f"{PICTURES_TESTS}/unit/domain/urls/test_sizes.py::test_urls_have_a_size_together",),
    ),
    Mutation(
        "original-without-its-own-file",
        _MECHANISM,
        "Each client of an original has a copy on the disk, or the copy goes with the first client.",
        f"{PICTURES}/clients/original_spool.py",
        before="            if not entry.clients:\n",
        after="            if True:\n",
        tests=(
            f"{PICTURES_TESTS}/unit/clients/test_original_spool.py::test_readers_share_a_file_until_the_last_one_leaves",
        ),
    ),
)
