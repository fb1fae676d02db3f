"""Recipients of a picture: who requested it, and whether a comparison with what offers use may delete it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

OFFERS: Final = "offers"
"""Client whose export of used URLs pictures are compared with."""


class Recipient(NamedTuple):
    """Who has requested a picture for a namespace.

    Attributes:
        namespace: That keeps the picture.
        name: Key of the messages with results.
        client: Service that exports which pictures it uses; empty: none does.
    """

    namespace: str
    name: str
    client: str


def are_only_offers(recipients: Collection[Recipient], held: Iterable[str]) -> bool:
    """Return whether offers alone have requested a picture.

    Args:
        recipients: all that are known.
        held: namespaces that keep the picture. A namespace without a known recipient is from before recipients were
            stored: somebody may need it.
    """
    known = {recipient.namespace for recipient in recipients}
    return all(recipient.client == OFFERS for recipient in recipients) and known.issuperset(held)
