"""`classifeed picture namespaces|namespace`."""

from __future__ import annotations

import re
from typing import Annotated, Final

import typer

from classifeed.pictures.v1.picture_service_pb2 import PictureNamespace, SizeRule
from classifeed_cli.commands.picture.contents import Format
from classifeed_cli.commands.picture.options import given_namespace
from classifeed_cli.messages import document_of
from classifeed_cli.session import Session, with_session
from classifeed_cli.views.picture import NAMESPACES

_SIZE: Final = re.compile(r"([a-z0-9][a-z0-9-]{0,31}):(\d{1,4})x(\d{1,4})(:crop)?")


def _sizes(values: list[str] | None) -> list[str] | None:
    for value in values or ():
        _read_size(value)
    return values


def _read_size(value: str) -> SizeRule:
    found = _SIZE.fullmatch(value)
    if found is None:
        raise typer.BadParameter(f"{value!r} is no size such as card:320x320 or card:320x320:crop")
    return SizeRule(name=found[1], width=int(found[2]), height=int(found[3]), crop=bool(found[4]))


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (namespaces, namespace):
        group.command()(command)


@with_session
def namespaces(session: Session) -> None:
    """List the namespaces of pictures: their sizes and formats, and how much they keep."""
    with session.picture_client() as client:
        found = client.list_namespaces()
    session.out.rows(NAMESPACES, found)
    session.out.document({"namespaces": [document_of(each) for each in found]})


@with_session
def namespace(
    session: Session,
    name: Annotated[str, typer.Argument(help="Name of the namespace.", callback=given_namespace)],
    size: Annotated[
        list[str] | None,
        typer.Option(
            "--size", help="NAME:WIDTHxHEIGHT, with :crop to fill the box; may be given again.", callback=_sizes
        ),
    ] = None,
    kind: Annotated[
        list[Format] | None, typer.Option("--format", help="Format of smaller versions; may be given again.")
    ] = None,
    quota_mb: Annotated[
        int | None, typer.Option("--quota-mb", min=0, help="MiB that its pictures may take; 0: no limit.")
    ] = None,
) -> None:
    """Create a namespace, or change the given settings. By default, a new one has the format jpeg and no limit.

    Clients without a preference get the first format. Stored pictures get new sizes when they are requested for another
    namespace.
    """
    with session.picture_client() as client:
        known = {each.name: each for each in client.list_namespaces()}
        wanted = known.get(name, PictureNamespace(name=name, formats=[Format.JPEG]))
        request = PictureNamespace(
            name=name,
            sizes=wanted.sizes if size is None else [_read_size(each) for each in size],
            formats=wanted.formats if kind is None else kind,
            quota_bytes=wanted.quota_bytes if quota_mb is None else quota_mb << 20,
        )
        made = client.put_namespace(request)
    session.out.say(f"{name}: {'changed' if name in known else 'created'}")
    session.out.rows(NAMESPACES, [made])
    session.out.document(document_of(made))
