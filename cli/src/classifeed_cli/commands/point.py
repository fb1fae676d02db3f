"""`classifeed point …`: points on the map, their comments and votes."""

from __future__ import annotations

import uuid
from typing import Annotated

import typer

from classifeed.moderation.v1 import subject_pb2
from classifeed.points.v1 import point_pb2, point_service_pb2
from classifeed_cli.messages import document_of
from classifeed_cli.paging import collect
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.confirmation import YesOption, confirm
from classifeed_cli.views.point import POINTS, show_comment, show_point

_app = typer.Typer(help="Points on the map, their comments and votes.", no_args_is_help=True)
_ROLES = ", ".join(name.removeprefix("AUTHOR_ROLE_").lower() for name in subject_pb2.AuthorRole.keys()[1:])


def _point_id(value: str) -> str:
    try:
        return str(uuid.UUID(value)) if value else ""
    except ValueError:
        raise typer.BadParameter(f"{value!r} is not a uuid such as 0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b") from None


def _role(value: str) -> str:
    if f"AUTHOR_ROLE_{value.upper()}" not in subject_pb2.AuthorRole.keys()[1:]:
        raise typer.BadParameter(f"{value!r} is not one of {_ROLES}")
    return value


def _place(value: str) -> str:
    _read_place(value)
    return value


def _area(value: str) -> str:
    south_west, _, north_east = value.partition(":")
    _read_place(south_west)
    _read_place(north_east)
    return value


def _read_place(value: str) -> point_pb2.Location:
    latitude, _, longitude = value.partition(",")
    try:
        return point_pb2.Location(latitude=float(latitude), longitude=float(longitude))
    except ValueError:
        raise typer.BadParameter(f"{value!r} is not a latitude and longitude such as 55.75,37.62") from None


_Id = Annotated[str, typer.Argument(help="The point's uuid.", callback=_point_id)]
_Author = Annotated[str, typer.Option("--author", help="Id of the author.")]
_Role = Annotated[str, typer.Option("--role", help=f"Role of the author: {_ROLES}.", callback=_role)]
_Any = Annotated[bool, typer.Option("--any-status", help="Also print content that is not approved, as for moderators.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(_app, name="point")


@_app.command()
@with_session
def add(
    session: Session,
    at: Annotated[str, typer.Option("--at", help="Latitude,longitude in degrees.", callback=_place)],
    tag: Annotated[list[str], typer.Option("--tag", help="Event type, such as accident; may be repeated.")],
    text: Annotated[str, typer.Option("--text", help="Text of the point.")] = "",
    author: _Author = "operator",
    role: _Role = "user",
    region: Annotated[list[int] | None, typer.Option(min=1, help="Region, nearest first; may be repeated.")] = None,
    point_id: Annotated[str, typer.Option("--id", help="The point's uuid, chosen here.", callback=_point_id)] = "",
) -> None:
    """Create a point. It is served once its text is approved."""
    request = point_service_pb2.CreatePointRequest(
        point_id=point_id or str(uuid.uuid4()),
        author=_author(author, role),
        tags=tag,
        description=text,
        location=_read_place(at),
        region_ids=region or [],
    )
    with session.moderation_client() as client:
        session.show(show_point, client.create_point(request))


@_app.command()
@with_session
def show(session: Session, point_id: _Id, any_status: _Any = False) -> None:
    """Print a point with its comments."""
    with session.moderation_client() as client:
        session.show(show_point, client.get_point(f"points/{point_id}", any_status=any_status))


@_app.command("list")
@with_session
def list_points(
    session: Session,
    area: Annotated[str, typer.Argument(help="South-west and north-east corner: LAT,LON:LAT,LON.", callback=_area)],
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Only with this event type; may be repeated.")] = None,
    any_status: _Any = False,
    limit: Annotated[int, typer.Option(min=1, help="Points to print.")] = 50,
) -> None:
    """List the points of an area, oldest first."""
    out = session.out
    south_west, _, north_east = area.partition(":")
    request = point_service_pb2.ListPointsRequest(
        south_west=_read_place(south_west), north_east=_read_place(north_east), tags=tag or [], any_status=any_status
    )
    with session.moderation_client() as client:
        found = collect(client.list_points, request, "points", limit)
    out.rows(POINTS, found.points, more_than=limit if found.next_page_token else None)
    out.document(document_of(found))


@_app.command()
@with_session
def comment(
    session: Session,
    point_id: _Id,
    text: Annotated[str, typer.Argument(help="The comment.")],
    author: _Author = "operator",
    role: _Role = "user",
    request: Annotated[str, typer.Option("--request", help="Id of the request; a repeated one adds nothing.")] = "",
) -> None:
    """Add a comment to a point. It is served once its text is approved."""
    message = point_service_pb2.AddCommentRequest(
        parent=f"points/{point_id}", author=_author(author, role), text=text, request_id=request or uuid.uuid4().hex
    )
    with session.moderation_client() as client:
        session.show(show_comment, client.add_comment(message))


@_app.command()
@with_session
def vote(
    session: Session,
    point_id: _Id,
    is_there: Annotated[bool, typer.Option("--there/--gone", help="Whether the event is still there.")],
    author: _Author = "operator",
) -> None:
    """Vote on whether the event of a point is still there; a later vote of the author replaces this one."""
    with session.moderation_client() as client:
        session.show(show_point, client.vote(f"points/{point_id}", author, is_there=is_there))


@_app.command()
@with_session
def remove(session: Session, point_id: _Id, yes: YesOption = False) -> None:
    """Remove a point with its comments."""
    out = session.out
    confirm(out, f"Remove point {point_id} with its comments?", yes=yes)
    with session.moderation_client() as client:
        was_there = client.delete_point(f"points/{point_id}")
    out.say(f"point {point_id} is removed" if was_there else f"point {point_id} was removed before")
    out.document({"removed": was_there})


def _author(author_id: str, role: str) -> point_pb2.Author:
    return point_pb2.Author(author_id=author_id, role=f"AUTHOR_ROLE_{role.upper()}")
