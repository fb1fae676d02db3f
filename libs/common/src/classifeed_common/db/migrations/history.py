"""The order of revisions, and which of them a run of `migrate` may apply."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal

from alembic.config import Config
from alembic.script import Script, ScriptDirectory

Phase = Literal["pre", "post", "all"]


class MigrationError(Exception):
    """The database cannot be migrated as requested; the message says what to do."""


def alembic_config(package: str) -> Config:
    """Return Alembic's configuration for a package: the shared environment and the package's versions.

    Raises:
        MigrationError: the package has no `migrations/versions`.
    """
    versions = Path(str(files(package).joinpath("migrations", "versions")))
    if not versions.is_dir():
        raise MigrationError(f"{package} has no folder migrations/versions: is the wheel complete?")
    config = Config()
    # Config's values are interpolated with %, so a % in a path is doubled.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("version_locations", str(versions).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def phase_of(revision: Script) -> Literal["pre", "post"]:
    """Return the phase of a revision file.

    Raises:
        MigrationError: the phase is neither pre nor post.
    """
    phase = getattr(revision.module, "PHASE", "pre")
    if phase == "pre":
        return "pre"
    if phase == "post":
        return "post"
    raise MigrationError(f"revision {revision.revision}: PHASE is {phase!r}, allowed are 'pre' and 'post'")


def pending_revisions(scripts: ScriptDirectory, current: str | None) -> list[Script]:
    """Return the pending revisions, oldest first.

    Raises:
        MigrationError: the history has several heads, or the database is at a revision that this version lacks.
    """
    heads = scripts.get_heads()
    if len(heads) > 1:
        raise MigrationError(f"the history has several heads ({', '.join(heads)}): make it one line again")
    history = [script for script in scripts.walk_revisions() if isinstance(script, Script)]
    if current is not None and current not in {script.revision for script in history}:
        raise MigrationError(
            f"the database is at revision {current}, which this version does not have: a newer version has migrated "
            "it. Use that version, or restore a backup of this one."
        )
    pending = []
    for script in history:
        if script.revision == current:
            break
        pending.append(script)
    return pending[::-1]


def target_of(pending: Sequence[Script], phase: Phase, *, empty: bool) -> str | None:
    """Return the target revision of an upgrade, or None if there is nothing to do.

    An empty database has no older version to protect, so `pre` applies every revision there.

    Raises:
        MigrationError: a `pre` revision comes after a pending `post` one.
    """
    if not pending:
        return None
    if phase != "pre" or empty:
        return pending[-1].revision
    phases = [phase_of(script) for script in pending]
    first_post = phases.index("post") if "post" in phases else len(phases)
    if "pre" in phases[first_post:]:
        behind = pending[first_post + phases[first_post:].index("pre")]
        raise MigrationError(
            f"revision {behind.revision} (pre) waits behind {pending[first_post].revision} (post) of an earlier "
            "release: finish that release first (migrate --phase post), or stop the service and use --phase all."
        )
    return pending[first_post - 1].revision if first_post else None
