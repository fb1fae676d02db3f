"""Requests of web pages, HTTP APIs."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, COMMON_TESTS, JOBS, JOBS_TESTS

_GUARD_TESTS: Final = "libs/common/tests/unit/http/test_browser_guard.py"
_HTTP_API_TESTS: Final = f"{COMMON_TESTS}/http_api"

MUTATIONS: Final = (
    Mutation(
        "page-of-another-host",
        "Requests of web pages",
        "A web page with a host name that points to this machine can use the services on it.",
        f"{COMMON}/http/browser_guard.py",
        before="return address.is_loopback or not self.is_loopback",
        after="return True",
        tests=(f"{_GUARD_TESTS}::test_a_host_is_ours_or_refused",),
    ),
    Mutation(
        "page-of-another-origin",
        "Requests of web pages",
        "A web page of another origin can send a changing request, although it cannot read the response.",
        f"{COMMON}/http/browser_guard.py",
        before="return rest == authority or (match",
        after="return rest != authority or (match",
        tests=(f"{_GUARD_TESTS}::test_pages_of_other_origins_are_refused",),
    ),
    Mutation(
        "picture-refused-in-a-page",
        "Requests of web pages",
        "Pages of shops cannot show the stored pictures.",
        f"{COMMON}/http/browser_guard.py",
        before="if is_safe and _is_one_of(self._public, scope):",
        after="if False:",
        tests=(f"{_GUARD_TESTS}::test_pages_of_any_site_show_what_is_public",),
    ),
    Mutation(
        "public-route-changed-by-a-page",
        "Requests of web pages",
        "A page of any site can send a changing request to a public route.",
        f"{COMMON}/http/browser_guard.py",
        before="if is_safe and _is_one_of(self._public, scope):",
        after="if _is_one_of(self._public, scope) or scope['path'].startswith('/public/'):",
        tests=(f"{_GUARD_TESTS}::test_pages_of_any_site_show_what_is_public",),
    ),
    Mutation(
        "body-of-any-type",
        "Requests of web pages",
        "A body with a content type that web pages may send without permission is accepted as JSON.",
        f"{COMMON}/http/browser_guard.py",
        before="if given is None and not has_body:",
        after="if True:",
        tests=(f"{_GUARD_TESTS}::test_what_changes_something_is_json",),
    ),
    Mutation(
        "queue-filled-by-one-caller",
        "Requests of web pages",
        "One caller can have an unlimited number of open jobs.",
        f"{JOBS}/admin/admin.py",
        before="if sum(response.created for response in responses) > room:",
        after="if False:",
        tests=(f"{JOBS_TESTS}/api/test_http.py::test_a_caller_has_so_many_open_jobs_and_no_more",),
    ),
    Mutation(
        "http-wrong-token-is-anonymous",
        "HTTP APIs",
        "A caller with a wrong token is accepted where callers without one are.",
        f"{COMMON}/http/api/callers.py",
        before="token is None and self._takes_anonymous",
        after="not token and self._takes_anonymous",
        tests=(f"{_HTTP_API_TESTS}/test_callers.py::test_a_wrong_token_is_refused_and_counted",),
    ),
    Mutation(
        "http-anonymous-without-limit",
        "HTTP APIs",
        "Callers without a token have no rate limit.",
        f"{COMMON}/http/api/callers.py",
        before="            self.limits.take(None)\n",
        after="",
        tests=(
            f"{_HTTP_API_TESTS}/test_callers.py::test_without_keys_whoever_reaches_the_port_is_one_anonymous_caller",
        ),
    ),
    Mutation(
        "http-announced-body-is-read",
        "HTTP APIs",
        "A body that is announced as too large is read.",
        f"{COMMON}/http/api/bodies.py",
        before="        if self._announced > self._max_bytes:\n            raise self._too_large()\n",
        after="",
        tests=(f"{_HTTP_API_TESTS}/test_bodies.py::test_a_body_of_announced_length_is_refused_before_it_comes",),
    ),
)
