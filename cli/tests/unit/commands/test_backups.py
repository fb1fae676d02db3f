"""Backups of the picture records are listed and restored."""

from __future__ import annotations

from typing import Any, cast

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.jobs.v1 import job_pb2
from classifeed.pictures.v1 import picture_service_pb2
from classifeed_cli.commands.picture import backups
from classifeed_cli.exit_codes import CommandError, ExitCode

NEWEST = {
    "name": "20261120T090000000000Z", "begin_time": "2026-11-20T09:00:00Z", "end_time": "2026-11-20T09:00:05Z",
    "states": "9000", "waiting_requests": "12", "stored_pictures": "8800", "size_bytes": "4500000", "shards": 1,
    "partitions": 64, "rules_version": "canonical@1",
}  # fmt: skip
DAMAGED = {"name": "20261120T080000000000Z", "fault": "the manifest of 20261120T080000000000Z cannot be read"}


def listed(*documents: dict[str, Any]) -> picture_service_pb2.ListBackupsResponse:
    return ParseDict({"backups": list(documents)}, picture_service_pb2.ListBackupsResponse())


def restored(api: Any, status: str, error: str = "") -> None:
    api.respond("ListBackups", listed(NEWEST, DAMAGED))
    response = picture_service_pb2.RestoreBackupResponse(name=str(NEWEST["name"]), job_id="j-1")
    api.respond("RestoreBackup", response)
    job = job_pb2.Job(job_id="j-1", task="pictures.restore", error=error)
    job.status = cast(job_pb2.JobStatus, job_pb2.JobStatus.Value(f"JOB_STATUS_{status}"))
    api.respond("WatchJob", [job])


def test_the_list_says_which_one_cannot_be_read(api: Any, terminal: Any, snapshot: Any) -> None:
    api.respond("ListBackups", listed(NEWEST, DAMAGED))
    snapshot("picture-backups", terminal("picture", "backups"))
    document = terminal("picture", "backups", "--json").document
    assert [each["name"] for each in document["backups"]] == [NEWEST["name"], DAMAGED["name"]]
    api.respond("ListBackups", listed())
    assert "no backup yet" in terminal("picture", "backups").out


def test_the_newest_is_restored_unless_another_is_named(api: Any, terminal: Any) -> None:
    restored(api, "SUCCEEDED")
    assert terminal("picture", "restore", "--yes").exit_code == ExitCode.DONE
    assert terminal("picture", "restore", "--yes", str(DAMAGED["name"])).exit_code == ExitCode.DONE
    assert [request.name for request in api.requests["RestoreBackup"]] == [NEWEST["name"], DAMAGED["name"]]


def test_a_failed_restore_says_why(api: Any, terminal: Any) -> None:
    restored(api, "FAILED", error="00001-pictures.parquet is damaged")
    ended = terminal("picture", "restore", "--yes")
    assert ended.exit_code == ExitCode.REFUSED
    assert "00001-pictures.parquet is damaged" in ended.out


def test_what_is_not_there_is_refused(api: Any, terminal: Any) -> None:
    api.respond("ListBackups", listed(NEWEST))
    ended = terminal("picture", "restore", "--yes", "other", "--json")
    assert (ended.exit_code, ended.document["error"]["reason"]) == (ExitCode.REFUSED, "BACKUP_UNKNOWN")
    api.respond("ListBackups", listed())
    assert terminal("picture", "restore", "--yes").exit_code == ExitCode.REFUSED
    assert "RestoreBackup" not in api.requests


def test_the_confirmation_names_which_one(api: Any, terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    questions: list[str] = []

    def refuse(_: Any, question: str, *, yes: bool) -> None:
        questions.append(question)
        raise CommandError(ExitCode.REFUSED, "NOT_CONFIRMED", "not confirmed")

    monkeypatch.setattr(backups, "confirm", refuse)
    api.respond("ListBackups", listed(NEWEST))
    assert terminal("picture", "restore").exit_code == ExitCode.REFUSED
    assert str(NEWEST["name"]) in questions[0]
    assert "RestoreBackup" not in api.requests
