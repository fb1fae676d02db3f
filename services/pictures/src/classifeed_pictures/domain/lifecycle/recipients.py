"""Recipients of a picture, and whether a comparison with the used URLs may delete it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

OFFERS: Final = "offers"
"""Client whose export of used URLs is compared with the pictures."""


class Recipient(NamedTuple):
    """A recipient of a picture in a namespace.

    Attributes:
        namespace: namespace that keeps the picture.
        name: key of the messages with results.
        client: service that exports the URLs it uses; empty: none.
    """

    namespace: str
    name: str
    client: str


def are_only_offers(recipients: Collection[Recipient], held: Iterable[str]) -> bool:
    """Return whether only offers requested a picture.

    Args:
        recipients: all known recipients.
        held: namespaces that keep the picture. A namespace without a known recipient is older than the storage of
            recipients, so it may still be needed.
    """
    known = {recipient.namespace for recipient in recipients}
    return all(recipient.client == OFFERS for recipient in recipients) and known.issuperset(held)
