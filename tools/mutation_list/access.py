"""Access: tokens, sellers, callers of HTTP, web pages, and limits of requests."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, COMMON_TESTS, DOMAIN, MODERATION_TESTS, RECEIVER, RECEIVER_TESTS

_TEST_OWNER_RULES: Final = "tests/contract/protos/test_owner_rules.py"
_OWNERS: Final = f"{COMMON}/auth/owners.py"

MUTATIONS: Final = (
    Mutation(
        "tokens-good-without-a-list",
        "If the file of tokens is missing or damaged, revoked tokens are valid again.",
        f"{COMMON}/auth/token_records.py",
        before="(owners := self._good.get(token_id))",
        after="(owners := self._good.get(token_id, frozenset() if self._fault else None))",
        tests=(
            f"{COMMON_TESTS}/unit/auth/test_team_tokens.py"
            "::test_without_a_list_every_token_of_a_team_is_refused_and_those_of_services_are_not",
        ),
    ),
    Mutation(
        "token-of-any-seller",
        "A token for one seller can read and write the data of every seller.",
        _OWNERS,
        before="if not self._owners >= found:",
        after="if False:",
        tests=(f"{_TEST_OWNER_RULES}::test_a_token_reaches_its_own_sellers_only",),
    ),
    Mutation(
        "request-of-no-seller-is-of-all",
        "A request without a seller reaches all sellers with a token for one seller.",
        _OWNERS,
        before="found and _is_named(request, self._rule.field)",
        after="True",
        tests=(f"{_TEST_OWNER_RULES}::test_what_does_not_name_an_own_seller_is_refused",),
    ),
    Mutation(
        "method-without-a-rule-is-open",
        "A new method without a rule is open to tokens for some sellers.",
        _OWNERS,
        before="self._rules.get(method, Closed())",
        after="self._rules.get(method, Public())",
        tests=(f"{_TEST_OWNER_RULES}::test_a_method_without_a_rule_is_refused",),
    ),
    Mutation(
        "stream-checked-at-its-first-request-only",
        "A later request of a stream may name another seller.",
        f"{COMMON}/rpc/validation.py",
        before="            guard.check_request(request)",
        after="            guard.check_request(request)\n            guard = None",
        tests=(f"{_TEST_OWNER_RULES}::test_each_request_of_a_stream_is_checked",),
    ),
    Mutation(
        "nested-sellers-not-found",
        "A seller in a nested message of a request is not compared.",
        f"{DOMAIN}/owner_rules.py",
        before="                    yield from list_sellers(each)",
        after="                    yield from ()",
        tests=(f"{_TEST_OWNER_RULES}::test_a_foreign_seller_is_found_in_every_text_of_a_request",),
    ),
    Mutation(
        "http-of-every-seller",
        "The HTTP APIs of jobs and pictures accept tokens that are limited to some sellers.",
        f"{COMMON}/http/api/callers.py",
        before="self._policy.owner_rules.check_without_messages(method, verified.caller)",
        after="pass",
        tests=(f"{_TEST_OWNER_RULES}::test_http_has_no_request_to_compare_so_it_refuses",),
    ),
    Mutation(
        "documents-of-another-client",
        "A service can write and delete the documents of another client.",
        f"{RECEIVER}/rpc/receiver_service.py",
        before="PushBatchRequest) -> pb.PushBatchResponse:\n        require_own(request.client)\n",
        after="PushBatchRequest) -> pb.PushBatchResponse:\n",
        tests=(
            f"{RECEIVER_TESTS}/integration/rpc/test_own_clients.py"
            "::test_a_writer_is_refused_the_clients_of_others_by_every_method",
        ),
    ),
    Mutation(
        "page-of-another-host",
        "A web page with a host name that points to this machine can use the services on it.",
        f"{COMMON}/http/browser_guard.py",
        before="return address.is_loopback or not self.is_loopback",
        after="return True",
        tests=(f"{COMMON_TESTS}/unit/http/test_browser_guard.py::test_a_host_is_ours_or_refused",),
    ),
    Mutation(
        "page-of-another-origin",
        "A web page of another origin can send a changing request, although it cannot read the response.",
        f"{COMMON}/http/browser_guard.py",
        before="return rest == authority or (match",
        after="return rest != authority or (match",
        tests=(f"{COMMON_TESTS}/unit/http/test_browser_guard.py::test_pages_of_other_origins_are_refused",),
    ),
    Mutation(
        "http-wrong-token-is-anonymous",
        "A caller with a wrong token is accepted where callers without one are.",
        f"{COMMON}/http/api/callers.py",
        before="token is None and self._takes_anonymous",
        after="not token and self._takes_anonymous",
        tests=(f"{COMMON_TESTS}/integration/http_api/test_callers.py::test_a_wrong_token_is_refused_and_counted",),
    ),
    Mutation(
        "http-announced-body-is-read",
        "A body that is announced as too large is read.",
        f"{COMMON}/http/api/bodies.py",
        before="        if self._announced > self._max_bytes:\n            raise self._too_large()\n",
        after="",
        tests=(
            f"{COMMON_TESTS}/integration/http_api/test_bodies.py"
            "::test_a_body_of_announced_length_is_refused_before_it_comes",
        ),
    ),
    Mutation(
        "silent-client-stays",
        "A client that sends no complete request head keeps its connection.",
        f"{COMMON}/http/connection.py",
        before="self._head_since is not None and now",
        after="False and now",
        tests=(
            f"{COMMON_TESTS}/integration/http_api/test_slow_clients.py"
            "::test_a_client_that_sends_no_request_is_disconnected",
        ),
    ),
    Mutation(
        "path-with-control-characters",
        "NUL or a line end in a path reaches the database.",
        f"{COMMON}/http/paths.py",
        before="if (found := _CONTROLS.search(path)) is not None:",
        after="if (found := _CONTROLS.search(path)) is None and False:",
        tests=(
            "tests/contract/http/test_http_limits.py"
            "::test_paths_of_the_wrong_form_are_refused_and_never_a_fault_or_a_reset",
        ),
    ),
    Mutation(
        "callback-for-any-service",
        "A token that the verdict service issued for another service is accepted for callbacks.",
        f"{COMMON}/auth/service_tokens.py",
        before="if audience not in verified.audiences:",
        after="if not verified.audiences:",
        tests=(
            f"{MODERATION_TESTS}/integration/http/test_callback.py"
            "::test_a_wrong_token_is_refused_and_counted_and_changes_nothing",
        ),
    ),
    Mutation(
        "callback-of-anybody-under-up",
        "Any process of the machine can approve texts of `classifeed up` without a token.",
        "cli/src/classifeed_cli/platform/planning/services.toml",
        before='VERDICT_ENVIRONMENT = "stable"',
        after='VERDICT_ENVIRONMENT = "testing"',
        tests=(
            "cli/tests/unit/platform/planning/test_service_table.py"
            "::test_no_process_of_the_machine_decides_about_texts_without_a_token",
        ),
    ),
    Mutation(
        "older-keys-not-tried",
        "After a rotation of the keys, credentials of feeds that the older key encrypted cannot be decrypted.",
        f"{COMMON}/auth/encryption.py",
        before="for known_id, key in self._keys:",
        after="for known_id, key in self._keys[:1]:",
        tests=(
            f"{COMMON_TESTS}/unit/auth/test_encryption.py::test_keys_can_be_changed_without_losing_what_is_encrypted",
        ),
    ),
)
