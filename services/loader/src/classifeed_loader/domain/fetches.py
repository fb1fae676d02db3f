"""Fetches: what names them, and what the steps of one need to know of it."""

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
        """Return its resource name."""
        return f"sellers/{self.seller_id}/feeds/{self.namespace}/fetches/{self.fetch_id}"

    @property
    def lock_key(self) -> str:
        """What excludes two fetches of a namespace from running at a time."""
        return f"feedloader:{self.seller_id}:{self.namespace}"

    @property
    def blob_ref(self) -> str:
        """What its file is referred to by."""
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
    """A fetch as the job that runs it finds it; `sha256` is set once its file is stored."""

    feed_version: int
    forced: bool
    is_ended: bool
    http_status: int
    size_bytes: int
    sha256: str

    @property
    def is_as_before(self) -> bool:
        """Whether the site has sent 304: the file is the one of before."""
        return self.http_status == NOT_MODIFIED


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The file of a fetch, safe in the object store. `is_as_before`: the site responded so, and sent none."""

    sha256: str
    size_bytes: int
    is_as_before: bool


def shown_elsewhere(final_url: str, own_url: str) -> str:
    """Return where a file came from, without the query, which may hold a key; empty when it is the feed's own link."""
    final, own = _without_query(final_url), _without_query(own_url)
    return "" if final == own else final


def _without_query(url: str) -> str:
    # Both have passed the guard of the download.
    link = check_url(url, allow_loopback=True)
    return f"{link.scheme}://{link.authority}{link.target.partition('?')[0]}"
