"""Requests that block the event loop, and with it `/health/live`."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import CLEANWEB, COMMON, MODERATION, MODERATION_TESTS, PICTURES, PICTURES_TESTS

_MECHANISM: Final = "Event loops"
_WORK: Final = (
    "tests/contract/protos/test_request_work.py::test_no_request_holds_the_event_loop_before_its_servicer_sees_it"
)
_CLEANWEB: Final = "services/cleanweb/tests/integration/test_event_loop.py"
_MODERATION: Final = f"{MODERATION_TESTS}/integration/test_event_loop.py::test_no_request_holds_the_event_loop"

MUTATIONS: Final = (
    Mutation(
        "every-violation-of-a-large-request",
        _MECHANISM,
        "A request of 1 MiB with half a million invalid items takes 10 s and 1.8 GB before its refusal.",
        f"{COMMON}/rpc/validation.py",
        before="if request.ByteSize() <= _ALL_VIOLATIONS_BYTES:",
        after="if True:",
        tests=(_WORK,),
    ),
    Mutation(
        "requests-decoded-whatever-their-size",
        _MECHANISM,
        "A request above the size limit of its method is decoded before its refusal.",
        f"{COMMON}/rpc/texts.py",
        before="message = deserialize(data) if len(data) <= limit_bytes else None",
        after="message = deserialize(data)",
        tests=(_WORK,),
    ),
    Mutation(
        "long-texts-judged-on-the-loop",
        _MECHANISM,
        "A text of 200,000 characters blocks the verdict service for a second.",
        f"{CLEANWEB}/app/judge_text.py",
        before="if len(text.text) <= _LONG_CHARS:",
        after="if True:",
        tests=(f"{_CLEANWEB}::test_no_rpc_holds_the_event_loop",),
    ),
    Mutation(
        "json-of-any-number-of-values",
        _MECHANISM,
        "A body of 2 MiB with 200,000 values blocks the verdict service for a second.",
        f"{COMMON}/http/api/bodies.py",
        before='if most_values is not None and without_texts.count(b",") >= most_values:',
        after="if False:",
        tests=(f"{_CLEANWEB}::test_no_route_holds_the_event_loop",),
    ),
    Mutation(
        "urls-decoded-before-they-are-counted",
        _MECHANISM,
        "A body of 5 MiB with half a million texts blocks the pictures service for a second.",
        f"{PICTURES}/http/states.py",
        before="        check_json(body, most_deep=_MOST_DEEP, most_values=_MOST_URLS)\n",
        after="",
        tests=(f"{PICTURES_TESTS}/integration/http/test_event_loop.py::test_no_route_holds_the_event_loop",),
    ),
    Mutation(
        "callback-in-one-transaction",
        _MECHANISM,
        "A callback with 10,000 keys blocks moderation for a second.",
        f"{MODERATION}/app/decisions/record_verdicts.py",
        before="for begin in range(0, len(items), _BATCH):\n"
        "            await self._record(items[begin : begin + _BATCH], gathers=gathers)",
        after="await self._record(items, gathers=gathers)",
        tests=(_MODERATION,),
    ),
    Mutation(
        "any-number-of-verdicts-about-a-key",
        _MECHANISM,
        "A callback with 10,000 verdicts about one text is accepted, and all of them are stored.",
        f"{MODERATION}/domain/verdicts.py",
        before="if len(collected.verdicts) > _VERDICTS_LIMIT:",
        after="if False:",
        tests=(f"{MODERATION_TESTS}/integration/http/test_callback.py::test_wrong_bodies_are_refused_and_counted",),
    ),
)
