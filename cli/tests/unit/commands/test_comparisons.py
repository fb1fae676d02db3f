"""Comparisons of stored pictures with those that offers use are listed and confirmed."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.pictures.v1 import picture_service_pb2
from classifeed_cli.commands.picture import comparisons
from classifeed_cli.exit_codes import CommandError, ExitCode

HELD = {
    "comparison_id": "7", "state": "COMPARISON_STATE_HELD", "snapshot_time": "2026-11-20T09:00:00Z",
    "compared": "9000", "unused": "4500",
}  # fmt: skip
DONE = {**HELD, "comparison_id": "6", "state": "COMPARISON_STATE_DONE", "unused": "12"}
BEGUN = {"comparison_id": "8", "state": "COMPARISON_STATE_RUNNING"}


def listed(*documents: dict[str, Any]) -> picture_service_pb2.ListComparisonsResponse:
    return ParseDict({"comparisons": list(documents)}, picture_service_pb2.ListComparisonsResponse())


def test_the_list_says_which_one_waits_for_a_person(api: Any, terminal: Any, snapshot: Any) -> None:
    api.respond("ListComparisons", listed(BEGUN, HELD, DONE))
    snapshot("picture-comparisons", terminal("picture", "comparisons"))
    document = terminal("picture", "comparisons", "--json").document
    assert [each["state"] for each in document["comparisons"]] == ["RUNNING", "HELD", "DONE"]
    api.respond("ListComparisons", listed())
    assert "no comparison yet" in terminal("picture", "comparisons").out


def test_a_held_one_is_confirmed(api: Any, terminal: Any, snapshot: Any) -> None:
    running = ParseDict({**HELD, "state": "COMPARISON_STATE_RUNNING"}, picture_service_pb2.Comparison())
    api.respond("ListComparisons", listed(HELD))
    api.respond("ConfirmComparison", running)
    snapshot("picture-confirm", terminal("picture", "confirm", "7"))
    assert terminal("picture", "confirm", "7", "--json").document["comparison_id"] == "7"
    assert [request.comparison_id for request in api.requests["ConfirmComparison"]] == [7, 7]
    assert terminal("picture", "confirm", "0").exit_code == ExitCode.USAGE


def test_what_is_not_held_is_refused_in_words(api: Any, terminal: Any, refusal: Any, snapshot: Any) -> None:
    words = "Comparison 6 is DONE. Only one that is HELD can be confirmed."
    api.respond("ListComparisons", listed(DONE))
    api.respond("ConfirmComparison", refusal("FAILED_PRECONDITION", "COMPARISON_NOT_HELD", words))
    snapshot("picture-confirm-refused", terminal("picture", "confirm", "6"))
    ended = terminal("picture", "confirm", "6", "--json")
    assert (ended.exit_code, ended.document["error"]["reason"]) == (ExitCode.REFUSED, "COMPARISON_NOT_HELD")


def test_the_confirmation_names_how_many_it_is_about(api: Any, terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    questions: list[str] = []

    def refuse(_: Any, question: str, *, yes: bool) -> None:
        questions.append(question)
        raise CommandError(ExitCode.REFUSED, "NOT_CONFIRMED", "not confirmed")

    monkeypatch.setattr(comparisons, "confirm", refuse)
    api.respond("ListComparisons", listed(HELD))
    assert terminal("picture", "confirm", "7").exit_code == ExitCode.REFUSED
    assert questions == ["Mark 4,500 of 9,000 pictures that no offer uses, and delete those marked a day ago?"]
    assert "ConfirmComparison" not in api.requests
