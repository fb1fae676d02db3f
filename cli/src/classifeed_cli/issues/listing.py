"""Output of `task errors`: groups, lists and files of issues. Groups and lists return their length."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Final

from classifeed.feeds.v1 import task_pb2, task_service_pb2
from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.issues.groups import group_issues
from classifeed_cli.issues.reading import Issues
from classifeed_cli.issues.view import show_groups
from classifeed_cli.messages import document_of
from classifeed_cli.paging import collect
from classifeed_cli.terminal.output import Output
from classifeed_cli.views.task import show_errors, show_lost, unlisted_of
from classifeed_client import Client

Request = task_service_pb2.ListOfferErrorsRequest
GROUPED: Final = 10_000
"""Maximum number of issues that are read for grouping, which is the number that a load can list fast."""


def list_groups(out: Output, client: Client, load: task_pb2.Task, request: Request, limit: int) -> int:
    """Print the largest groups of equal issues, among the first `GROUPED` issues."""
    issues = iter(Issues(client, request))
    groups = group_issues(islice(issues, GROUPED))
    show_groups(out, groups[:limit])
    if len(groups) > limit:
        out.say(
            f"\n… and {len(groups) - limit:,} more groups; increase --limit to see them, or write a file with --xlsx"
        )
    if next(issues, None) is not None:
        of_all = f" of {load.statistics.errors + load.statistics.warnings:,}" if _is_unfiltered(request) else ""
        out.say(
            f"\nThese are groups of the first {GROUPED:,} issues{of_all}. `classifeed task show` counts all issues by "
            "code. Write all of them to a file with --xlsx or --csv, or choose by --code, --level, --field, --offer."
        )
    show_lost(out, load, code=request.code)
    return len(groups)


def list_issues(out: Output, client: Client, load: task_pb2.Task, request: Request, limit: int) -> int:
    """Print issues one by one, in the order of the file, and the JSON document."""
    found = collect(client.list_offer_errors, request, "errors", limit)
    show_errors(out, list(found.errors))
    if found.next_page_token:
        out.say(f"… more than {limit}; increase --limit to see more, or write all to a file with --xlsx or --csv")
    show_lost(out, load, code=request.code)
    out.document(document_of(found))
    return len(found.errors)


def export_issues(
    out: Output, client: Client, load: task_pb2.Task, request: Request, csv_file: Path | None, xlsx_file: Path | None
) -> None:
    """Write all issues to files, and print the files with the number of issues.

    Raises:
        CommandError: A file name has the wrong suffix, or the file exists or cannot be written.
    """
    from classifeed_cli.issues.export import export

    given = {".csv": csv_file, ".xlsx": xlsx_file}
    files = [file for file in given.values() if file is not None]
    for suffix, file in given.items():
        if file is not None and file.suffix.lower() != suffix:
            raise CommandError(ExitCode.USAGE, "USAGE", f"--{suffix[1:]}: {file} must end with {suffix}")
    count = 0
    for file in files:
        count = export(client, request, file)
        out.say(f"{count:,} {'issue' if count == 1 else 'issues'}: {file}")
    show_lost(out, load, code=request.code)
    lost = unlisted_of(load.statistics, code=request.code)
    out.document(
        {
            "files": [str(file) for file in files],
            "issues": str(count),
            "unlisted": [{"code": code, "count": str(number)} for code, number in lost.items()],
        }
    )


def _is_unfiltered(request: Request) -> bool:
    return not (request.level or request.kind or request.code or request.field or request.external_id)
