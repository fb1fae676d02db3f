"""`classifeed picture put|get`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_cli.commands.picture.options import OFFERS, KeeperOption, picture_namespace
from classifeed_cli.exit_codes import refused
from classifeed_cli.messages import document_of
from classifeed_cli.platform.picture_bytes import Fetched
from classifeed_cli.session import Session, with_session
from classifeed_cli.views.amounts import size_words
from classifeed_cli.views.picture import ORIGINAL, path_of, show_picture

_STDOUT: Final = "-"


class Format(StrEnum):
    """Formats of smaller versions, as typed on the command line."""

    JPEG = "jpeg"
    WEBP = "webp"
    AVIF = "avif"


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (put, get):
        group.command()(command)


@with_session
def put(
    session: Session,
    file: Annotated[Path, typer.Argument(help="The picture.", exists=True, dir_okay=False)],
    key: Annotated[str, typer.Option("--key", help="Its URL, or any name; the same key replaces it.")],
    namespace: KeeperOption = OFFERS,
) -> None:
    """Store a picture from a file, and print its address."""
    if not key:
        raise typer.BadParameter("--key must not be empty: it is the name by which the picture is found again")
    with session.picture_client() as client:
        try:
            info = client.put(key, file, namespace)
        except OSError as error:
            raise refused("FILE_UNREADABLE", f"{file}: {error.strerror}; nothing was put", file=str(file)) from error
    session.out.say(f"{key}: kept in {namespace}")
    show_picture(session.out, info)
    session.out.document({**document_of(info), "address": path_of(info)})


@with_session
def get(
    session: Session,
    picture: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="Address that begins with /get/, or URL or key of the picture.")
    ],
    size: Annotated[str, typer.Option("--size", help="Name of a size, or orig for the original.")] = ORIGINAL,
    kind: Annotated[
        Format | None, typer.Option("--format", help="Format of a smaller version; default: the namespace's first.")
    ] = None,
    namespace: Annotated[
        str, typer.Option("--namespace", help="Namespace that keeps it, where several do.", callback=picture_namespace)
    ] = "",
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File to write, - for stdout; default: NAME-SIZE.jpg here.")
    ] = None,
) -> None:
    """Download a picture into a file."""
    out = session.out
    if output == _STDOUT and out.as_json:
        raise typer.BadParameter("--output - and --json both write to stdout: name a file")
    source = session.picture_bytes()
    if picture.startswith("/get/"):
        address = picture.rstrip("/")
        # /get/namespace/group/name, with or without a size.
        address = address if address.count("/") > 4 else f"{address}/{size}"
    else:
        with session.picture_client() as client:
            address = f"{path_of(_choose(list(client.get_state(picture).pictures), picture, namespace))}/{size}"
    fetched = source.fetch(address, accept=f"image/{kind}" if kind else "")
    if output == _STDOUT:
        sys.stdout.buffer.write(fetched.content)
        sys.stdout.buffer.flush()
        return
    file = _write(fetched, address, output)
    out.say(f"{file}: {size_words(len(fetched.content))} of {fetched.media_type}")
    out.document(
        {
            "file": str(file),
            "address": address,
            "media_type": fetched.media_type,
            "size_bytes": str(len(fetched.content)),
        }
    )


def _choose(pictures: list[PictureInfo], url: str, namespace: str) -> PictureInfo:
    kept = [each for each in pictures if namespace in ("", each.namespace)]
    if kept:
        return kept[0]
    names = ", ".join(each.namespace for each in pictures)
    where = f"it is not kept in {namespace}, but in {names}" if names else "it is not kept anywhere"
    raise refused(
        "PICTURE_NOT_STORED",
        f"{url}: {where}. `classifeed picture state` says why, `classifeed picture request` requests it.",
        url=url,
    )


def _write(fetched: Fetched, address: str, output: str | None) -> Path:
    name, size = address.rsplit("/", 2)[1:]
    # Only characters that cannot lead out of this folder.
    plain = "".join(each for each in f"{name}-{size}" if each.isalnum() or each in "-_")
    file = Path(output) if output else Path(f"{plain}.{fetched.extension}")
    try:
        file.write_bytes(fetched.content)
    except OSError as error:
        raise refused(
            "FILE_NOT_WRITTEN", f"{file}: {error.strerror}; name another with --output", file=str(file)
        ) from error
    return file
