"""HTTP clients of servers on loopback."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Final

import httpx

NO_AUTHORITIES: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Saves each client the 25 ms for reading the certificates of all authorities."""


def loopback_client(
    base_url: httpx.URL | str = "", *, timeout_s: float = 60, headers: Mapping[str, str] | None = None
) -> httpx.AsyncClient:
    """Return a client of a server on loopback that ignores the environment's proxies. The caller closes it.

    Args:
        base_url: base of paths, such as `http://127.0.0.1:8080`; empty: each request has a full URL.
        timeout_s: timeout of each step of a request, in seconds.
        headers: headers of each request.
    """
    return httpx.AsyncClient(
        base_url=base_url, timeout=timeout_s, headers=headers, trust_env=False, verify=NO_AUTHORITIES
    )
