"""`classifeed feed add|list|show|set|pause|resume|remove`: feeds that are fetched by URL."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Annotated

import typer

from classifeed.feeds.v1 import feed_pb2, feed_service_pb2, task_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_cli.commands.feed.completion import FailOnRejectedOption, end_fetch
from classifeed_cli.commands.feed.loading import fetch_first, follow_removal
from classifeed_cli.commands.feed.settings import (
    CurrencyOption,
    Disposition,
    DispositionOption,
    EveryOption,
    FormatOption,
    HeaderOption,
    Mode,
    ModeOption,
    UserOption,
    settings_of,
)
from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.messages import document_of
from classifeed_cli.options import NamespaceOption, SellerOption, feed_options
from classifeed_cli.paging import collect
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.confirmation import YesOption, confirm, is_terminal
from classifeed_cli.views.feed import FEEDS, show_feed
from classifeed_cli.views.task import show_task
from classifeed_client import ApiError, Client, Refused, feed_name, seller_name

_CREDENTIALS = "settings.source.credentials"


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command()(add)
    group.command("list")(list_feeds)
    group.command("show", help="Print a feed: its settings, and the state of its fetches.")(
        _feed_command(Client.get_feed)
    )
    group.command("set")(change)
    group.command("pause", help="Stop fetching; the offers stay.")(_feed_command(Client.pause_feed))
    group.command("resume", help="Resume fetching, at once.")(_feed_command(Client.resume_feed))
    group.command()(remove)


@with_session
def add(
    session: Session,
    url: Annotated[str, typer.Argument(help="Link of the file, http or https.")],
    seller: SellerOption,
    namespace: NamespaceOption = "default",
    every: EveryOption = None,
    mode: ModeOption = Mode.REPLACE,
    disposition: DispositionOption = Disposition.DELETE,
    format_id: FormatOption = None,
    currency: CurrencyOption = None,
    user: UserOption = None,
    header: HeaderOption = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the first fetch and for its load.")] = True,
    fail_on_rejected: FailOnRejectedOption = None,
    timeout: Annotated[float, typer.Option(min=1, help="Maximum time to wait for completion, in seconds.")] = 600,
) -> int:
    """Register a link whose file is fetched at once, and then each hour or as often as --every says.

    It waits until the file is loaded, and prints the outcome.
    """
    out = session.out
    feed_name(seller, namespace)
    settings, _ = settings_of(
        url=url,
        every_s=every,
        mode=mode,
        disposition=disposition,
        format_id=format_id,
        currency=currency,
        user=user,
        headers=header,
    )
    with session.client() as client:
        feed = client.create_feed(seller, namespace, settings, request_id=str(uuid.uuid4()))
        show_feed(out, feed)
        if not wait:
            look = f"classifeed feed fetches {feed_options(seller, namespace)}"
            out.say(f"It is fetched at once. Follow it with:\n  {look}")
            out.document({**document_of(feed), "fetch": None, "task": None})
            return ExitCode.DONE
        fetch, task = fetch_first(client, out, feed, timeout)
    exit_code = end_fetch(out, fetch, task, fail_on_rejected)
    out.document(
        {**document_of(feed), "fetch": document_of(fetch), "task": document_of(task) if task is not None else None}
    )
    return exit_code


@with_session
def list_feeds(
    session: Session,
    seller: SellerOption,
    limit: Annotated[int, typer.Option(min=1, help="Feeds to print.")] = 100,
) -> None:
    """List the feeds of a seller, and the namespaces filled by uploads alone."""
    out = session.out
    parent = seller_name(seller)
    with session.client() as client:
        found = collect(
            lambda page: client.list_feeds(parent, page_size=page.page_size, page_token=page.page_token),
            feed_service_pb2.ListFeedsRequest(),
            "feeds",
            limit,
        )
    if found.feeds:
        out.rows(FEEDS, found.feeds)
        if found.next_page_token:
            out.say(f"… more than {limit}; increase --limit to see more")
    else:
        out.say(f"{seller} has neither feeds nor uploads. Make a feed:\n  classifeed feed add URL --seller {seller}")
    out.document(document_of(found))


@with_session
def change(
    session: Session,
    seller: SellerOption,
    namespace: NamespaceOption = "default",
    url: Annotated[str | None, typer.Option(help="Link of the file, http or https.")] = None,
    every: EveryOption = None,
    mode: ModeOption = None,
    disposition: DispositionOption = None,
    format_id: FormatOption = None,
    currency: CurrencyOption = None,
    user: UserOption = None,
    header: HeaderOption = None,
    no_credentials: Annotated[
        bool, typer.Option("--no-credentials", help="Delete the stored name, password and headers.")
    ] = False,
) -> None:
    """Change the given settings of a feed. A --user or --header replaces all stored ones."""
    name = feed_name(seller, namespace)
    settings, paths = settings_of(
        url=url,
        every_s=every,
        mode=mode,
        disposition=disposition,
        format_id=format_id,
        currency=currency,
        user=user,
        headers=header,
    )
    if no_credentials and _CREDENTIALS in paths:
        raise typer.BadParameter("--no-credentials cannot be combined with --user or --header")
    if no_credentials:
        paths.append(_CREDENTIALS)
    if not paths:
        raise CommandError(ExitCode.USAGE, "USAGE", "nothing to change: name at least one setting (see --help)")
    with session.client() as client:
        feed = client.update_feed(name, settings, paths)
    session.show(show_feed, feed)


@with_session
def remove(
    session: Session,
    seller: SellerOption,
    namespace: NamespaceOption = "default",
    disposition: Annotated[
        Disposition, typer.Option(case_sensitive=False, help="Delete the offers, or keep them by hand.")
    ] = Disposition.DELETE,
    manual: Annotated[
        bool,
        typer.Option("--manual", help="Remove the offers that are kept by hand, too; also of a removed namespace."),
    ] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Maximum time to wait for completion, in seconds.")] = 600,
    yes: YesOption = False,
) -> int:
    """Remove a feed, or empty a namespace of uploads, wait for completion, and print the outcome for the offers."""
    out = session.out
    name = feed_name(seller, namespace)
    with session.client() as client:
        before = _find_feed(client, name)
        is_there = before is None or before.status != feed_pb2.FEED_STATUS_REMOVED
        if (is_there or manual) and not yes and is_terminal():
            confirm(out, _question(client, seller, namespace, disposition, with_manual=manual), yes=yes)
        feed = client.delete_feed(name, disposition=disposition.value, include_manual=manual)
        task = follow_removal(client, out, feed, timeout)
    was_removed = not is_there and before is not None and before.version == feed.version
    how = "was removed before. The outcome for its offers then:" if was_removed else "is removed."
    out.say(f"Feed {seller}/{namespace} {how}")
    show_task(out, task)
    out.document({"feed": document_of(feed), "task": document_of(task)})
    return ExitCode.DONE if task.status == task_pb2.TASK_STATUS_SUCCEEDED else ExitCode.REFUSED


def _find_feed(client: Client, name: str) -> feed_pb2.Feed | None:
    try:
        return client.get_feed(name)
    except Refused as error:
        if error.reason != "FEED_NOT_FOUND":
            raise
        return None  # the namespace may have offers anyway: the removal checks


def _question(client: Client, seller: str, namespace: str, disposition: Disposition, *, with_manual: bool) -> str:
    """Return the confirmation question, with the number of offers if it is known."""
    becomes = "Those from its files are removed"
    if with_manual:
        becomes = "All of them are removed, also those that are kept by hand"
    elif disposition is not Disposition.DELETE:
        becomes = "Those from its files are kept by hand, and no file changes them any more"
    request = search_service_pb2.SearchRequest(client="offers", page_size=1)
    for field, value in (("seller", seller), ("namespace", namespace)):
        request.filters.add(field=field).terms.values.add(string_value=value)
    try:
        count = f"{client.search(request).total:,} offers in the search"
    except ApiError:
        count = "offers; the search cannot count them now"
    return f"Remove {seller}/{namespace}? It has {count}. {becomes}."


def _feed_command(call: Callable[[Client, str], feed_pb2.Feed]) -> Callable[..., None]:
    """Return a command that makes one call for a feed, and prints the feed of the response."""

    @with_session
    def command(session: Session, seller: SellerOption, namespace: NamespaceOption = "default") -> None:
        name = feed_name(seller, namespace)
        with session.client() as client:
            feed = call(client, name)
        session.show(show_feed, feed)

    return command
