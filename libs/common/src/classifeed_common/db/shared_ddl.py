"""DDL of the shared mechanisms: each service puts the tables it needs into its own schema by its own migration."""

from __future__ import annotations

from importlib.resources import files

_FOLDER = files("classifeed_common.db").joinpath("ddl")


def ddl(name: str, version: int) -> str:
    """Return the SQL that makes (version 1) or changes (later versions) the tables of a shared mechanism.

    For `op.execute(ddl("leases", 1))` in a migration. A published version never changes; a change is a new file
    `ddl/<name>_v<version>.sql`, and every service that has the table calls it in a new migration.

    Raises:
        LookupError: there is no such file.
    """
    file = _FOLDER.joinpath(f"{name}_v{version}.sql")
    if not file.is_file():
        known = sorted(entry.name.removesuffix(".sql") for entry in _FOLDER.iterdir() if entry.name.endswith(".sql"))
        raise LookupError(f"no shared table {name!r} in version {version}; there are {', '.join(known)}")
    return file.read_text(encoding="utf-8")
