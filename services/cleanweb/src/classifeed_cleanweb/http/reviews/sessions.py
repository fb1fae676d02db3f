"""Who reviews: the token that a reviewer has signed in with, in a cookie that scripts and other sites cannot use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, Field, field_validator
from starlette.requests import Request, cookie_parser
from starlette.responses import Response

from classifeed_common.http.api.callers import TokenHeader

PATH: Final = "/reviews"
COOKIE: Final = "classifeed_reviewer"
_TOKEN: Final = re.compile(r"\s*[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\s*")  # the form of a JWT


class CookieToken(TokenHeader):
    """The cookie as the place where callers send their token."""

    def token_of(self, headers: Mapping[str, str]) -> str | None:
        """Return the token; None: there is no such cookie."""
        return cookie_parser(headers.get("cookie", "")).get(COOKIE)


REVIEWER_COOKIE: Final = CookieToken("Cookie", f"{COOKIE} =")


class SignIn(BaseModel):
    """What the form sends."""

    token: str = Field(max_length=8192)

    @field_validator("token")
    @classmethod
    def _is_token(cls, found: str) -> str:
        if not _TOKEN.fullmatch(found):
            raise ValueError("this is not a token; paste the whole token: three parts with a dot between them")
        return found

    @property
    def headers(self) -> Mapping[str, str]:
        """The header by which the browser will send the token."""
        return {"cookie": f"{COOKIE}={self.token.strip()}"}


def remember(response: Response, request: Request, token: str) -> None:
    """Have the browser send the token until it is closed, to these pages and from these pages only."""
    response.set_cookie(
        COOKIE, token.strip(), path=PATH, httponly=True, samesite="strict", secure=_came_encrypted(request)
    )


def forget(response: Response, request: Request) -> None:
    """Have the browser throw the token away."""
    response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="strict", secure=_came_encrypted(request))


def _came_encrypted(request: Request) -> bool:
    # An ingress ends TLS and says so; whoever lies here keeps their own cookie from plain connections.
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto", ""))
