"""DDL of the shared tables: each service creates the tables it needs in its schema, in its migrations."""

from __future__ import annotations

from importlib.resources import files

_FOLDER = files("classifeed_common.db").joinpath("ddl")


def ddl(name: str, version: int) -> str:
    """Return the SQL that creates (version 1) or changes (later versions) the tables of a shared mechanism.

    For `op.execute(ddl("leases", 1))` in a migration. A published version never changes. A change is a new file
    `ddl/<name>_v<version>.sql`, which every service with the table calls in a new migration.

    Raises:
        LookupError: the file does not exist.
    """
    file = _FOLDER.joinpath(f"{name}_v{version}.sql")
    if not file.is_file():
        known = sorted(entry.name.removesuffix(".sql") for entry in _FOLDER.iterdir() if entry.name.endswith(".sql"))
        raise LookupError(f"no shared table {name!r} in version {version}; there are {', '.join(known)}")
    return file.read_text(encoding="utf-8")
