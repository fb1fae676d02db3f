"""What `task errors` prints or writes; each returns how many issues there are, listed or not."""

from __future__ import annotations

from pathlib import Path

from classifeed.feeds.v1 import task_service_pb2
from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.issues.groups import group_issues
from classifeed_cli.issues.reading import Issues
from classifeed_cli.issues.view import show_groups
from classifeed_cli.messages import document_of
from classifeed_cli.paging import collect
from classifeed_cli.terminal.output import Output
from classifeed_cli.views.task import show_errors, show_unlisted
from classifeed_client import Client

Request = task_service_pb2.ListOfferErrorsRequest


def list_groups(out: Output, client: Client, request: Request, limit: int) -> int:
    """Print the largest groups of issues that say the same."""
    issues = Issues(client, request)
    groups = group_issues(issues)
    show_groups(out, groups[:limit])
    if len(groups) > limit:
        out.say(
            f"\n… and {len(groups) - limit:,} more groups; increase --limit to see them, or write a file with --xlsx"
        )
    _show_unlisted(out, request, issues.unlisted)
    return len(groups) + sum(issues.unlisted.values())


def list_issues(out: Output, client: Client, request: Request, limit: int) -> int:
    """Print issues one by one, in the order of the file, and the JSON document."""

    def ask(size: int, token: str) -> task_service_pb2.ListOfferErrorsResponse:
        page = Request(page_size=size, page_token=token)
        page.MergeFrom(request)
        return client.list_offer_errors(page)

    found = collect(ask, "errors", limit)
    show_errors(out, list(found.errors))
    if found.next_page_token:
        out.say(f"… more than {limit}; increase --limit to see more")
    unlisted = {each.code: each.count for each in found.unlisted}
    _show_unlisted(out, request, unlisted)
    out.document(document_of(found))
    return len(found.errors) + sum(unlisted.values())


def export_issues(out: Output, client: Client, request: Request, csv_file: Path | None, xlsx_file: Path | None) -> None:
    """Write all listed issues to files, and print which, with how many.

    Raises:
        CommandError: a name has another suffix than its kind, or the file is there, or cannot be written.
    """
    from classifeed_cli.issues.export import export

    given = {".csv": csv_file, ".xlsx": xlsx_file}
    files = [file for file in given.values() if file is not None]
    for suffix, file in given.items():
        if file is not None and file.suffix.lower() != suffix:
            raise CommandError(ExitCode.USAGE, "USAGE", f"--{suffix[1:]}: {file} must end with {suffix}")
    issues = Issues(client, request)
    count = export(issues, files)
    for file in files:
        out.say(f"{count:,} {'issue' if count == 1 else 'issues'}: {file}")
    _show_unlisted(out, request, issues.unlisted)
    out.document(
        {
            "files": [str(file) for file in files],
            "issues": str(count),
            "unlisted": [{"code": code, "count": str(number)} for code, number in issues.unlisted.items()],
        }
    )


def _show_unlisted(out: Output, request: Request, unlisted: dict[str, int]) -> None:
    show_unlisted(out, unlisted)
    if request.external_id and unlisted:
        out.say(f"Issues of {request.external_id} may be among those that are not listed.")
