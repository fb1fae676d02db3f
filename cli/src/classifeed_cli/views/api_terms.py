"""Translation of API errors into the terms of the command line: options and commands instead of fields and methods.

These texts are for people only; with `--json`, programs get the server's text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from classifeed_cli.developer_hints import hint_of
from classifeed_cli.options import feed_options
from classifeed_client.errors import ApiError, FieldViolation

_OPTIONS: Final = {
    "settings.source.url": "the URL",
    "settings.source.credentials": "--user or --header",
    "settings.schedule.interval": "--every",
    "settings.mode": "--mode",
    "settings.disposition": "--disposition",
    "settings.format": "--format",
    "settings.default_currency": "--currency",
    "spec.default_currency": "--currency",
    "job_id": "the JOB",
    "page_size": "--limit",
}
_WORDS: Final = {
    "job_id": "must be the id of a job, such as 0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b; `classifeed jobs list` has them",
}
# Reasons whose message contains the field violations.
_WHOLE: Final = frozenset({"NAMESPACE_RESERVED"})
# Names that the client checks, because the service would respond with a regular expression.
_NAMED: Final = {"seller": "a seller", "namespace": "a namespace", "id": "an offer", "format": "a format"}
_FAULT: Final = re.compile(r"^([A-Z][A-Z_]+): ")
_SECONDS: Final = re.compile(r"\b(\d+) s\b(?: \([^)]*\))?")
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def words_of(error: ApiError) -> str:
    """Return the message of an error for people; the server's message if it names no fields or methods of the API."""
    if error.reason in _WHOLE:
        return error.message
    if error.reason == "REQUEST_INVALID" and (whose := _NAMED.get(error.metadata.get("field", ""))):
        return _bad_name(error, whose)
    if (named := error.metadata.get("feed")) and (speak := _REASONS.get(error.reason)):
        return speak(*named.split("/")[1::2])
    if (task := error.metadata.get("task")) and (speak_of := _TASK_REASONS.get(error.reason)):
        return speak_of(*task.split("/")[1::2])
    if error.violations and all(_field(violation) in _OPTIONS for violation in error.violations):
        message = "; ".join(map(_describe_violation, error.violations))
        hints = dict.fromkeys(hint_of(_code(violation)) for violation in error.violations)
        return " ".join(filter(None, [f"{message[:1].upper()}{message[1:]}.", *hints]))
    return str(error)


def _bad_name(error: ApiError, whose: str) -> str:
    [violation] = error.violations
    shown = error.message.removeprefix(f"The {violation.field} ").removesuffix(f" {violation.description}.")
    return f"{shown} cannot be the name of {whose}: it {violation.description}."


def _feed_exists(seller: str, namespace: str) -> str:
    change = f"classifeed feed set {feed_options(seller, namespace)}"
    return f"{seller}/{namespace} has a feed already. Change it with `{change}`, or choose another --namespace."


def _namespace_has_feed(seller: str, namespace: str) -> str:
    end = f"classifeed feed remove {feed_options(seller, namespace)}"
    return (
        f"{seller}/{namespace} has a feed by link. Each load of the link replaces all offers of the namespace, so its "
        f"next load would undo this upload. Remove that feed with `{end}`, upload to another --namespace, upload with "
        "--mode PATCH, or upload with --force."
    )


def _another_site(seller: str, namespace: str) -> str:
    return (
        f"Nothing was changed: the new link of {seller}/{namespace} leads to another site than the one that the stored "
        "name, password and headers belong to. Give those of the new site in the same command, with --user or "
        "--header, or delete them with --no-credentials."
    )


def _feed_has_no_link(seller: str, namespace: str) -> str:
    add = f"classifeed feed add URL {feed_options(seller, namespace)}"
    return (
        f"{seller}/{namespace} is filled by uploads alone, so there is nothing to fetch, pause or change. Give it a "
        f"link with `{add}`, or upload its next file."
    )


def _task_held(seller: str, namespace: str, task: str) -> str:
    return (
        f"Load {task} is held: it waits for a decision, and nothing of what waits is applied. Keep the offers as they "
        f"are with `classifeed task reject {seller} {namespace} {task}`, or apply it with `task confirm`."
    )


def _task_ended(seller: str, namespace: str, task: str) -> str:
    return f"Load {task} is complete, so there is nothing to cancel. {_going_back(seller, namespace)}"


def _task_sent(seller: str, namespace: str, task: str) -> str:
    return (
        f"Load {task} has sent all its offers and cannot be canceled: it completes within moments. Wait for it. "
        f"{_going_back(seller, namespace)}"
    )


def _going_back(seller: str, namespace: str) -> str:
    return (
        f"To go back to an earlier file: `classifeed task rerun {seller} {namespace} TASK`; "
        f"`classifeed task list {seller} {namespace}` has the loads."
    )


_REASONS: Final[dict[str, Callable[[str, str], str]]] = {
    "FEED_EXISTS": _feed_exists,
    "NAMESPACE_HAS_FEED": _namespace_has_feed,
    "FEED_CREDENTIALS_OF_ANOTHER_SITE": _another_site,
    "FEED_HAS_NO_LINK": _feed_has_no_link,
}
_TASK_REASONS: Final[dict[str, Callable[[str, str, str], str]]] = {
    "TASK_HELD": _task_held,
    "TASK_ENDED": _task_ended,
    "TASK_SENT": _task_sent,
}


def _field(violation: FieldViolation) -> str:
    path = violation.field.removeprefix("feed.")
    # Errors inside the credentials belong to the options for credentials.
    return "settings.source.credentials" if path.startswith("settings.source.credentials.") else path


def _describe_violation(violation: FieldViolation) -> str:
    field = _field(violation)
    words = _WORDS.get(field) or _SECONDS.sub(_typed, _FAULT.sub("", violation.description))
    return f"{_OPTIONS[field]}{' ' if words.startswith('must ') else ': '}{words.rstrip('.')}"


def _code(violation: FieldViolation) -> str:
    """Return the error code of a download at the start of a description; empty if there is none."""
    found = _FAULT.match(violation.description)
    return found[1] if found else ""


def _typed(found: re.Match[str]) -> str:
    """Return seconds in the format of --every: 600 s is 10m."""
    seconds = int(found[1])
    return next(f"{seconds // size}{unit}" for unit, size in _UNITS if seconds % size == 0)
