"""Connection strings: the default options of every database session, unless the DSN sets them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_IDENTIFIER: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")

UNANSWERED_S: Final = 90.0
"""Time a statement may be silent while the server's state is unknown, in seconds. Longer than a pause of a minute,
which statements must survive (docs/reference/network-limits.md)."""

# The watch finds lost responses (ADR 0029); these options cover what it does not see. The kernel's limit is no shorter
# than ours: it also cuts a COPY whose server does not read because it waits for a lock.
_NETWORK_DEFAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "connect_timeout": "10",
        "keepalives_idle": "5",
        "keepalives_interval": "2",
        "keepalives_count": "3",
        "tcp_user_timeout": str(int(UNANSWERED_S * 1000)),
    }
)


def checked_schema(schema: str) -> str:
    """Return the schema's name if it needs no quotes in SQL.

    Raises:
        ValueError: the name is not a plain lower-case identifier.
    """
    if _IDENTIFIER.fullmatch(schema) is None:
        raise ValueError(f"schema {schema!r} is not a plain lower-case name: use letters, digits and _ (at most 63)")
    return schema


def bounded_dsn(dsn: str) -> str:
    """Return the DSN with timeouts for connecting and for silent sockets; options that it sets stay."""
    given = conninfo_to_dict(dsn)
    return make_conninfo(dsn, **{name: value for name, value in _NETWORK_DEFAULTS.items() if name not in given})


def session_dsn(
    dsn: str,
    schema: str,
    application_name: str,
    settings: Mapping[str, str] | None = None,
    further_schemas: Sequence[str] = (),
) -> str:
    """Return the DSN with timeouts, the search path and the given server settings.

    The settings are start-up options, so they need no round trip.

    Raises:
        ValueError: a schema's name is not a plain lower-case identifier.
    """
    options = [str(conninfo_to_dict(dsn).get("options") or "")]
    search_path = ",".join(checked_schema(each) for each in (schema, *further_schemas))
    wanted = {"search_path": search_path, **(settings or {})}
    options += [f"-c {name}={value}" for name, value in wanted.items()]
    return make_conninfo(bounded_dsn(dsn), options=" ".join(filter(None, options)), application_name=application_name)
