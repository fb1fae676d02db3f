"""`classifeed feed formats`: supported formats, with samples and schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from classifeed.feeds.v1 import format_pb2
from classifeed_cli.exit_codes import CommandError, ExitCode, refused
from classifeed_cli.messages import document_of, enum_label
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.output import Output
from classifeed_cli.views.amounts import size_words
from classifeed_client import Client, format_name


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command()(formats)


@with_session
def formats(
    session: Session,
    name: Annotated[str | None, typer.Argument(help="Short name of one format.")] = None,
    sample: Annotated[Path | None, typer.Option(help="Save a small feed in the format to this file.")] = None,
    schema: Annotated[Path | None, typer.Option(help="Save the XML Schema of the format to this file.")] = None,
) -> None:
    """List the formats that can be loaded, or save the sample or the schema of one."""
    out = session.out
    wanted = {kind: path for kind, path in (("SAMPLE", sample), ("SCHEMA", schema)) if path is not None}
    if wanted and name is None:
        raise CommandError(ExitCode.USAGE, "USAGE", "name the format: classifeed feed formats NAME --sample FILE")
    if name is not None:
        format_name(name)
    with session.client() as client:
        if name is None or not wanted:
            _list(client, out, name)
            return
        saved = [_save(client, out, name, kind, path) for kind, path in wanted.items()]
    out.document({"files": saved})


def _list(client: Client, out: Output, name: str | None) -> None:
    found = client.list_formats()
    if name is not None:
        one = [each for each in found.formats if each.format == name]
        if not one:
            known = ", ".join(each.format for each in found.formats)
            raise refused("FORMAT_NOT_FOUND", f"there is no format {name}; there are: {known}")
        found = format_pb2.ListFormatsResponse(formats=one)
    for each in found.formats:
        files = ", ".join(enum_label(format_pb2.FormatFileKind.DESCRIPTOR, kind).lower() for kind in each.files)
        out.say(f"{each.format}: {each.title}")
        out.say(f"  {each.description}", hang=2)
        if files:
            out.say(f"  files: {files}")
    out.document(document_of(found))


def _save(client: Client, out: Output, name: str, kind: str, path: Path) -> dict[str, Any]:
    file = client.get_format_file(name, kind)
    # The name comes from the service, so only its last component is used.
    target = path / Path(file.file_name).name if path.is_dir() else path
    try:
        with target.open("xb") as sink:
            sink.write(file.content)
    except FileExistsError:
        raise refused("FILE_EXISTS", f"{target} exists already; name another file") from None
    except OSError as error:
        raise refused("FILE_NOT_WRITTEN", f"{target}: {error.strerror}") from error
    out.say(f"{kind.lower()} of {name}: {target}, {size_words(len(file.content))}")
    return {"format": name, "kind": kind, "file": str(target), "bytes": str(len(file.content))}
