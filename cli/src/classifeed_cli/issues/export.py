"""Export of issues to files for spreadsheets, which the server generates."""

from __future__ import annotations

from pathlib import Path

from classifeed.feeds.v1.task_service_pb2 import ExportOfferErrorsRequest, ListOfferErrorsRequest
from classifeed_cli.exit_codes import refused
from classifeed_client import Client

# The server completes a workbook, maybe of a million issues, before it sends the first byte.
_TIMEOUT_S = 3600.0


def export(client: Client, request: ListOfferErrorsRequest, file: Path) -> int:
    """Write all issues of a request to a .csv or .xlsx file, in constant memory, and return their number.

    On an error, the file is removed.

    Raises:
        CommandError: The file exists already, or cannot be written.
        ApiError: The server refuses the request, or the stream is interrupted.
    """
    wanted = ExportOfferErrorsRequest(
        parent=request.parent,
        format=f"EXPORT_FORMAT_{file.suffix[1:].upper()}",
        level=request.level,
        code=request.code,
        field=request.field,
        external_id=request.external_id,
    )
    count = 0
    try:
        target = file.open("xb")
    except FileExistsError:
        raise refused("FILE_EXISTS", f"{file} exists already; name another file") from None
    except OSError as error:
        raise refused("FILE_NOT_WRITTEN", f"{file}: {error.strerror}") from error
    try:
        with target:
            for piece in client.export_offer_errors(wanted, timeout_s=_TIMEOUT_S):
                target.write(piece.content)
                count = piece.issues
    except OSError as error:
        file.unlink(missing_ok=True)
        raise refused("FILE_NOT_WRITTEN", f"{file}: {error.strerror}") from error
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    return count
