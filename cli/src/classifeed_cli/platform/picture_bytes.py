"""Download of picture bytes over HTTP, which needs no token."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from classifeed_cli.exit_codes import CommandError, ExitCode, unavailable

URL_VARIABLE: Final = "CLASSIFEED_PICTURES_URL"
_LIMIT_S: Final = 30.0
_EXTENSIONS: Final = {"image/jpeg": "jpg"}


@dataclass(frozen=True, slots=True)
class Fetched:
    """A version of a picture."""

    media_type: str
    content: bytes

    @property
    def extension(self) -> str:
        """File name extension for the media type."""
        return _EXTENSIONS.get(self.media_type, self.media_type.removeprefix("image/").partition("+")[0])


@dataclass(frozen=True, slots=True)
class PictureBytes:
    """The source of picture bytes.

    Attributes:
        base: Base URL, http:// or https:// with host and port, and the path of a proxy, if any.
    """

    base: str

    def fetch(self, path: str, *, accept: str = "") -> Fetched:
        """Return the version of a picture at an address. Blocks.

        Args:
            path: Address, /get/namespace/group/name/size.
            accept: Preferred media type; empty for none.

        Raises:
            CommandError: REFUSED, there is no such version, with the service's reason; UNAVAILABLE, no response.
        """
        url = urlsplit(self.base)
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = kind(url.hostname or "", url.port, timeout=_LIMIT_S)
        try:
            headers = {"Accept": accept} if accept else {}
            connection.request("GET", url.path.rstrip("/") + path, headers=headers)
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException, ValueError) as error:
            words = str(error) or type(error).__name__
            raise unavailable(
                "PICTURES_UNREACHABLE",
                f"pictures at {self.base} does not respond ({words}). `classifeed status` says what is wrong.",
                service="pictures",
                address=self.base,
            ) from error
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise self._error_of(path, response.status, content)
        return Fetched(response.headers.get_content_type(), content)

    def _error_of(self, path: str, status: int, content: bytes) -> CommandError:
        try:
            problem = json.loads(content)
            reason, detail = str(problem["reason"]), str(problem["detail"])
        except (ValueError, TypeError, KeyError):
            return unavailable(
                "PICTURES_UNREACHABLE",
                f"{path}: {self.base} responds with HTTP {status}, as pictures never does. Is it another server? "
                f"{URL_VARIABLE} says where pictures are read.",
                service="pictures",
                address=self.base,
            )
        is_fault = status >= http.client.INTERNAL_SERVER_ERROR
        exit_code = ExitCode.UNAVAILABLE if is_fault else ExitCode.REFUSED
        return CommandError(exit_code, reason, f"{path}: {detail}", {"path": path})
