"""Kept connections, and permits for hosts."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, COMMON_TESTS

_KEPT: Final = "Kept connections of the Fetcher"
_PERMITS: Final = "Permits for hosts"
_KEPT_TESTS: Final = f"{COMMON_TESTS}/fetch/test_kept_connections.py"
_PERMIT_TESTS: Final = f"{COMMON_TESTS}/fetch/test_host_permits.py"
_LIMIT_TESTS: Final = f"{COMMON_TESTS}/host_limits/test_host_limits.py"
_REFUSING_TESTS: Final = f"{COMMON_TESTS}/host_limits/test_refusing_hosts.py"
_RATE_TESTS: Final = "libs/common/tests/unit/host_limits/test_rates.py"
_MANY_HOSTS: Final = (
    "services/pictures/tests/integration/hosts/test_many_hosts.py"
    "::test_each_host_is_asked_as_it_may_be_and_hostile_ones_harm_no_other"
)
_DRAW: Final = f"{COMMON}/host_limits/queries.sql"

MUTATIONS: Final = (
    Mutation(
        "connection-kept-by-name-alone",
        _KEPT,
        "A name that has moved is asked at the address where it was.",
        f"{COMMON}/fetch/kept.py",
        before="if each.key in wanted",
        after="if wanted and each.key.host == link.host",
        tests=(f"{_KEPT_TESTS}::test_a_name_that_has_moved_does_not_use_the_connection_to_where_it_was",),
    ),
    Mutation(
        "address-checked-once",
        _KEPT,
        "A name that turned inward is asked over the connection from before.",
        f"{COMMON}/fetch/download.py",
        before="addresses = await self._resolve()",
        after="addresses = globals().get(self.host) or globals().setdefault(self.host, await self._resolve())",
        tests=(
            f"{COMMON_TESTS}/fetch/test_outer_links.py::test_no_link_of_the_corpus_gets_a_connection_that_is_kept",
            f"{_KEPT_TESTS}::test_a_name_that_turns_inward_is_refused_although_its_connection_is_open",
        ),
    ),
    Mutation(
        "connection-for-another-name",
        _KEPT,
        "A connection whose certificate was checked for one name serves another one.",
        f"{COMMON}/fetch/kept.py",
        before="_Key(link.scheme, link.host, link.port, address) for",
        after="_Key(link.scheme, 'shop.example.com', link.port, address) for",
        tests=(f"{_KEPT_TESTS}::test_another_name_at_the_same_address_has_a_connection_of_its_own",),
    ),
    Mutation(
        "idle-connection-unlooked-at",
        _KEPT,
        "Bytes that came while nobody asked are taken for the response to the next request.",
        f"{COMMON}/fetch/kept.py",
        before="asyncio.get_running_loop().time() and is_quiet(kept.stream):",
        after="asyncio.get_running_loop().time():",
        tests=(f"{_KEPT_TESTS}::test_bytes_and_ends_on_an_idle_connection_drop_it",),
    ),
    Mutation(
        "more-than-the-response-kept",
        _KEPT,
        "A connection with bytes behind the response serves on.",
        f"{COMMON}/fetch/exchange.py",
        before="return self._connection.is_idle() and not rest and not is_at_end",
        after="return self._connection.is_idle()",
        tests=(f"{_KEPT_TESTS}::test_what_did_not_come_to_a_clean_end_is_not_kept",),
    ),
    Mutation(
        "more-than-the-record-kept",
        _KEPT,
        "A connection with bytes behind the response, in the buffer of TLS, serves on.",
        f"{COMMON}/fetch/kept.py",
        before="    if tls is None:\n",
        after="    if tls is None or tls:\n",
        tests=(f"{_KEPT_TESTS}::test_what_did_not_come_to_a_clean_end_is_not_kept",),
    ),
    Mutation(
        "unread-response-kept",
        _KEPT,
        "A connection with an unread body serves on.",
        f"{COMMON}/fetch/connections.py",
        before="            connection.may_serve_again = False\n",
        after="            connection.may_serve_again = True\n",
        tests=(f"{_KEPT_TESTS}::test_what_did_not_come_to_a_clean_end_is_not_kept",),
    ),
    Mutation(
        "begun-response-asked-for-again",
        _KEPT,
        "A request is repeated although its response had begun to come.",
        f"{COMMON}/fetch/download.py",
        before=" and not exchange.has_begun_to_come:",
        after=":",
        tests=(f"{_KEPT_TESTS}::test_a_response_that_had_begun_is_not_asked_for_again",),
    ),
    Mutation(
        "closing-connection-not-survived",
        _KEPT,
        "A download fails because its server closed the kept connection just then.",
        f"{COMMON}/fetch/download.py",
        before='if connection.was_kept and failed.code == "CONNECTION_LOST"',
        after='if failed.code == "NEVER"',
        tests=(f"{_KEPT_TESTS}::test_a_request_that_met_a_closing_connection_is_repeated_once_on_a_new_one",),
    ),
    Mutation(
        "rate-metered-by-connection",
        _KEPT,
        "A request is too slow because of those before it on its connection.",
        f"{COMMON}/fetch/exchange.py",
        before="self._stream = MeteredStream(bare, limits, link.shown)",
        after="self._stream = globals().setdefault(id(bare), MeteredStream(bare, limits, link.shown))",
        tests=(f"{_KEPT_TESTS}::test_the_lowest_rate_is_that_of_each_request",),
    ),
    Mutation(
        "connections-kept-without-bound",
        _KEPT,
        "More connections to a host stay open than are to.",
        f"{COMMON}/fetch/kept.py",
        before="len(of_host) + 1 - self._keep.per_host",
        after="0",
        tests=(f"{_KEPT_TESTS}::test_so_many_are_kept_for_a_host_and_in_all",),
    ),
    Mutation(
        "permit-beyond-concurrency",
        _PERMITS,
        "More requests are under way to a host than its limit.",
        _DRAW,
        before=" AND cardinality(in_use) < %(at_a_time)s",
        after=" AND %(at_a_time)s > 0",
        tests=(f"{_LIMIT_TESTS}::test_so_many_are_under_way_at_a_time_over_all_processes",),
    ),
    Mutation(
        "permit-within-a-pause",
        _PERMITS,
        "A host is asked within its Retry-After.",
        _DRAW,
        before="wants AND paused_until <= now AND",
        after="wants AND",
        tests=(
            f"{_LIMIT_TESTS}::test_a_host_that_asks_for_it_is_left_alone_by_all_processes",
            f"{_PERMIT_TESTS}::test_nothing_is_sent_within_retry_after",
        ),
    ),
    Mutation(
        "permits-of-each-process",
        _PERMITS,
        "Each process has permits of its own.",
        f"{COMMON}/host_limits/limits.py",
        before="        permit = HostPermit(",
        after="        host = f'{host}#{__import__(\"os\").getpid()}'\n        permit = HostPermit(",
        tests=(_MANY_HOSTS,),
    ),
    Mutation(
        "retry-after-unheard",
        _PERMITS,
        "A response that asks to be left alone makes no pause.",
        f"{COMMON}/host_limits/permit.py",
        before="loop_s + retry_after_s if retry_after_s else 0.0",
        after="0.0",
        tests=(_MANY_HOSTS,),
    ),
    Mutation(
        "permit-faster-than-the-rate",
        _PERMITS,
        "A host is asked more often in a second than its rate.",
        _DRAW,
        before=" AND due_at <= now AND",
        after=" AND",
        tests=(f"{_PERMIT_TESTS}::test_no_second_sees_more_requests_than_the_rate",),
    ),
    Mutation(
        "permits-spaced-without-regard-to-lateness",
        _PERMITS,
        "Permits that are used late meet later ones within a second.",
        f"{COMMON}/host_limits/rates.py",
        before="return 1 + self.send_within_s + _FLOOR_S",
        after="return 1.0",
        tests=(f"{_RATE_TESTS}::test_no_second_has_more_requests_than_the_rate",),
    ),
    Mutation(
        "permit-held-for-ever",
        _PERMITS,
        "The permit of a process that died never comes free.",
        _DRAW,
        before="WHERE permit > now_us AND permit <> ALL (released)",
        after="WHERE permit <> ALL (released)",
        tests=(f"{_LIMIT_TESTS}::test_the_permit_of_a_process_that_died_comes_free_after_its_time",),
    ),
    Mutation(
        "new-host-overwritten",
        _PERMITS,
        "Two processes that meet a new host at once both have its first permit.",
        _DRAW,
        before="        WHERE known.version = excluded.version - 1\n",
        after="",
        tests=(f"{_LIMIT_TESTS}::test_hosts_that_two_processes_meet_at_once_are_made_once",),
    ),
    Mutation(
        "permit-never-too-old",
        _PERMITS,
        "A request that was slow to connect is sent within a pause that came meanwhile.",
        f"{COMMON}/host_limits/permit.py",
        before="loop_s <= self._reply.sent_s + self._policy.send_within_s",
        after="loop_s > 0",
        tests=(f"{_LIMIT_TESTS}::test_a_permit_that_was_drawn_before_a_pause_is_void_soon",),
    ),
    Mutation(
        "permit-used-twice",
        _PERMITS,
        "A request that is repeated on a new connection is not counted.",
        f"{COMMON}/host_limits/permit.py",
        before="while self._is_used or not",
        after="while not",
        tests=(
            f"{_LIMIT_TESTS}::test_each_request_under_a_permit_is_counted",
            f"{_PERMIT_TESTS}::test_a_request_that_is_repeated_on_a_new_connection_counts_twice",
        ),
    ),
    Mutation(
        "permit-of-nobody",
        _PERMITS,
        "A permit that came for a caller who had given up is held until it expires.",
        f"{COMMON}/host_limits/queue.py",
        before="        self.report.released.append(reply.permit)",
        after="        self.report.released",
        tests=(f"{_LIMIT_TESTS}::test_who_gives_up_waiting_keeps_no_permit",),
    ),
    Mutation(
        "host-slowed-by-each-of-many",
        _PERMITS,
        "Requests that are refused together slow their host once each.",
        f"{COMMON}/host_limits/rates.py",
        before="min(ceilings, default=None)",
        after="min(ceilings) / len(ceilings) if ceilings else None",
        tests=(f"{_RATE_TESTS}::test_requests_that_were_under_way_together_slow_their_host_once",),
    ),
    Mutation(
        "refusal-that-never-ends",
        _PERMITS,
        "A host that has refused once counts as refusing for ever, however often it responds.",
        _DRAW,
        before="CASE WHEN ok > 0 THEN NULL\n                   WHEN slow_down",
        after="CASE WHEN slow_down",
        tests=(f"{_REFUSING_TESTS}::test_one_success_ends_it_and_a_missing_file_neither_ends_nor_begins_it",),
    ),
    Mutation(
        "clock-set-back-stops-a-host",
        _PERMITS,
        "A host is not asked for as long as the clock of the database was set back.",
        _DRAW,
        before="least(sent_at, now) AS sent_at",
        after="sent_at",
        tests=(f"{_LIMIT_TESTS}::test_a_clock_that_was_set_back_does_not_stop_a_host",),
    ),
    Mutation(
        "timeout-unreported",
        _PERMITS,
        "A host that does not come to an end within the time of a download is not slowed.",
        f"{COMMON}/fetch/download.py",
        before="                if clock.expired():\n",
        after="                if False:\n",
        tests=(f"{_PERMIT_TESTS}::test_responses_change_the_rate",),
    ),
    Mutation(
        "labels-of-all-hosts",
        _PERMITS,
        "Metrics have a series for each host that was ever asked.",
        f"{COMMON}/fetch/metrics.py",
        before="if len(self._labelled) >= self._size:",
        after="if not self._size:",
        tests=(
            "libs/common/tests/unit/fetch/test_metrics.py::test_labels_are_few_at_any_time_and_change_once_a_period",
        ),
    ),
)
