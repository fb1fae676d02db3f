"""Session: the token of a signed-in person, in a cookie that scripts and other sites cannot use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, Field, field_validator
from starlette.requests import Request, cookie_parser
from starlette.responses import Response

from classifeed_common.http.api.callers import TokenHeader

_TOKEN: Final = re.compile(r"\s*[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\s*")  # the form of a JWT


class CookieToken(TokenHeader):
    """A cookie with the service token of a caller."""

    def __init__(self, cookie: str) -> None:
        super().__init__("Cookie", f"{cookie} =")

    @property
    def cookie(self) -> str:
        """Name of the cookie."""
        return self.scheme.removesuffix(" =")

    def token_of(self, headers: Mapping[str, str]) -> str | None:
        """Return the token; None: the cookie is missing."""
        return cookie_parser(headers.get("cookie", "")).get(self.cookie)


class SignIn(BaseModel):
    """The content of the sign-in form."""

    token: str = Field(max_length=8192)

    @field_validator("token")
    @classmethod
    def _is_token(cls, found: str) -> str:
        if not _TOKEN.fullmatch(found):
            raise ValueError("this is not a token; paste the whole token: three parts with a dot between them")
        return found


class Session:
    """The cookie of the pages below a path.

    Args:
        path: path of the pages.
        cookie: name of the cookie.
    """

    def __init__(self, path: str, cookie: str) -> None:
        self._path = path
        self.token = CookieToken(cookie)

    def headers_of(self, given: SignIn) -> Mapping[str, str]:
        """Return the header that a browser would send for a token."""
        return {"cookie": f"{self.token.cookie}={given.token.strip()}"}

    def remember(self, response: Response, request: Request, given: SignIn) -> None:
        """Set a session cookie that the browser sends only to these pages, and only from these pages."""
        response.set_cookie(
            self.token.cookie,
            given.token.strip(),
            path=self._path,
            httponly=True,
            samesite="strict",
            secure=_came_encrypted(request),
        )

    def forget(self, response: Response, request: Request) -> None:
        """Remove the token from the browser."""
        response.delete_cookie(
            self.token.cookie, path=self._path, httponly=True, samesite="strict", secure=_came_encrypted(request)
        )


def _came_encrypted(request: Request) -> bool:
    # An ingress ends TLS and reports it in this header. A client that lies only keeps its cookie from plain
    # connections.
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto", ""))
