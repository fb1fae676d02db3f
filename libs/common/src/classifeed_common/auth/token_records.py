"""TokenRecords: checks team tokens against the file of records."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from classifeed_common.auth.keys import RECORDS_FILE
from classifeed_common.auth.team_tokens import TokenRecordsError, list_team_tokens
from classifeed_common.errors import Unauthenticated

ABSENT: Final = (0, 0)


class TokenRecords:
    """The token records of a folder of keys; a changed file is read again.

    Args:
        directory: folder of keys.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / RECORDS_FILE
        self._stamp: tuple[int, int] | None = None
        self._good: dict[str, frozenset[str]] = {}
        self._revoked: frozenset[str] = frozenset()
        self._fault: str | None = None
        # Without this, a folder whose operator has never made a token would be reported as faulty.
        self._is_expected = False

    @property
    def fault(self) -> str | None:
        """Reason why every team token is refused.

        None: the file is good, or nothing shows that it ever existed (this object has not read it, and no token was
        checked).
        """
        self._reload()
        return self._fault if self._is_expected else None

    def check(self, token_id: str) -> frozenset[str]:
        """Return the owners of a token that the records list as good.

        Raises:
            Unauthenticated: TOKEN_REVOKED; TOKEN_UNKNOWN: it is not listed; TOKENS_UNREADABLE: the list cannot be read.
        """
        self._is_expected = True
        self._reload()
        if (owners := self._good.get(token_id)) is not None:
            return owners
        if self._fault is not None:
            raise Unauthenticated(
                "TOKENS_UNREADABLE",
                f"This service cannot read {RECORDS_FILE} of its keys, so it refuses every token of a team. The "
                "operator restores the file from a backup, or runs `classifeed token reset` and creates new tokens.",
            )
        if token_id in self._revoked:
            raise Unauthenticated("TOKEN_REVOKED", "The token was revoked. Request a new one from the operator.")
        raise Unauthenticated(
            "TOKEN_UNKNOWN",
            f"{RECORDS_FILE} of this service's keys does not list the token. Request a new one from the operator, who "
            "copies the file to each service that reads a copy of the keys.",
        )

    def _reload(self) -> None:
        stamp = stamp_of(self._path, missing=ABSENT)
        if stamp == self._stamp and self._fault is None:
            return
        self._good, self._revoked, self._fault = {}, frozenset(), None
        self._is_expected = self._is_expected or stamp != ABSENT
        self._stamp = stamp
        try:
            records = list_team_tokens(self._directory)
        except TokenRecordsError as error:
            self._fault = str(error)
            return
        self._good = {record.token_id: frozenset(record.owners) for record in records if record.revoked_at is None}
        self._revoked = frozenset(record.token_id for record in records if record.revoked_at is not None)


def stamp_of(path: Path, *, missing: tuple[int, int] | None = None) -> tuple[int, int]:
    """Return a value that changes with a file: files are replaced as a whole, so a change shows in inode or time.

    Args:
        path: the file.
        missing: result for a file that does not exist or cannot be examined; None: the OSError is raised.
    """
    try:
        status = path.stat()
    except OSError:
        if missing is None:
            raise
        return missing
    return status.st_mtime_ns, status.st_ino
