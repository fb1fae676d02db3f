"""HTTP clients of servers on loopback."""

from __future__ import annotations

import ssl
from typing import Final

NO_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For `httpx.AsyncClient(verify=…)`: reading the certificates of the whole world takes a client 25 ms."""
