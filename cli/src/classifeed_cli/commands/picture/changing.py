"""`classifeed picture look-again|request-again|delete`."""

from __future__ import annotations

import uuid
from typing import Annotated

import typer

from classifeed_cli.commands.picture.options import UrlsArgument, picture_namespace
from classifeed_cli.scope import NamespaceOption, SellerOption, parent_of
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.confirmation import YesOption, confirm


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (look_again, request_again, delete):
        group.command()(command)


@with_session
def look_again(session: Session, urls: UrlsArgument) -> None:
    """Retry failed pictures, even if their retry is not due."""
    with session.picture_client() as client:
        client.look_again(urls)
    session.out.say(f"pictures to retry: {len(urls)}; `classifeed picture state` shows the outcome")
    session.out.document({"urls": len(urls)})


@with_session
def request_again(session: Session, seller: SellerOption = "", namespace: NamespaceOption = "") -> None:
    """Request the pictures of all offers again, or of the offers of a seller.

    Use it after a restore, when the pictures service has lost records. Stored pictures are not downloaded again.
    """
    with session.picture_client() as client:
        job_id = client.request_again(parent_of(seller, namespace), uuid.uuid4().hex)
    if job_id:
        session.out.say("requested; `classifeed jobs list --queue offers.request-pictures` shows its progress")
    else:
        session.out.say("nothing is requested: offers of this installation request no pictures")
    session.out.document({"job_id": job_id})


@with_session
def delete(
    session: Session,
    urls: UrlsArgument,
    namespace: Annotated[
        str,
        typer.Option("--namespace", help="Namespace to delete them from; default: all.", callback=picture_namespace),
    ] = "",
    yes: YesOption = False,
) -> None:
    """Delete pictures. A later request downloads them again; one that was put must be put again."""
    where = namespace or "all namespaces"
    confirm(session.out, f"Delete {_count(urls)} from {where}?", yes=yes)
    with session.picture_client() as client:
        client.delete(urls, namespace)
    session.out.say(f"to be deleted from {where}: {_count(urls)}")
    session.out.document({"urls": len(urls), "namespace": namespace})


def _count(urls: list[str]) -> str:
    return urls[0] if len(urls) == 1 else f"{len(urls)} pictures"
