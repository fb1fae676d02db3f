"""Fetches: their keys and the state that the steps of a fetch need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from classifeed_common.fetch import check_url
from classifeed_domain.namespace_names import parse_numbered

NOT_MODIFIED: Final = 304


class FetchKey(NamedTuple):
    """One fetch of one namespace."""

    seller_id: str
    namespace: str
    fetch_id: int

    @property
    def name(self) -> str:
        """The resource name."""
        return f"sellers/{self.seller_id}/feeds/{self.namespace}/fetches/{self.fetch_id}"

    @property
    def lock_key(self) -> str:
        """The key that keeps two fetches of a namespace from running at the same time."""
        return f"feedloader:{self.seller_id}:{self.namespace}"

    @property
    def blob_ref(self) -> str:
        """The name by which the fetch refers to its file."""
        return f"fetch:{self.fetch_id}"

    @classmethod
    def parse(cls, name: str) -> FetchKey:
        """Return the fetch of a resource name.

        Raises:
            ValueError: it is not the name of a fetch.
        """
        return cls(*parse_numbered(name, "fetches"))


@dataclass(frozen=True, slots=True)
class FetchState:
    """The state of a fetch when its job runs; `sha256` is set once its file is stored."""

    feed_version: int
    forced: bool
    is_ended: bool
    http_status: int
    size_bytes: int
    sha256: str

    @property
    def is_as_before(self) -> bool:
        """Whether the site responded 304, so that the file is unchanged."""
        return self.http_status == NOT_MODIFIED


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The file of a fetch in the object store; `is_as_before`: the site reported it as unchanged and sent none."""

    sha256: str
    size_bytes: int
    is_as_before: bool


def shown_elsewhere(final_url: str, own_url: str) -> str:
    """Return the final URL of a file without its query, which may contain a key; empty if it is the feed's own link."""
    final, own = _without_query(final_url), _without_query(own_url)
    return "" if final == own else final


def _without_query(url: str) -> str:
    # The download has checked both URLs.
    link = check_url(url, allow_loopback=True)
    return f"{link.scheme}://{link.authority}{link.target.partition('?')[0]}"
