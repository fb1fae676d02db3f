"""What an offer is called: in the contracts, and as a document of the index. One rule for writers and searches."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from classifeed_domain.namespace_names import namespace_name

# The client of the registry and the index under which offers are documents.
DOCUMENT_CLIENT: Final = "offers"
# The field of such a document that says whose offer it is.
SELLER_FIELD: Final = "seller"
# The field of such a document that says when the offer changed.
CHANGE_TIME_FIELD: Final = "updated"
_NAME: Final = re.compile(r"sellers/([^/]+)/feeds/([^/]+)/offers/(.+)", re.DOTALL)


class OfferName(NamedTuple):
    """One offer of one namespace of one seller; the external id may hold any character, slashes too."""

    seller_id: str
    namespace: str
    external_id: str

    @classmethod
    def parse(cls, name: str) -> OfferName:
        """Return the parts of a resource name.

        Raises:
            ValueError: it is not the name of an offer.
        """
        found = _NAME.fullmatch(name)
        if found is None:
            raise ValueError(
                f"{name!r} is not of the form sellers/{{seller}}/feeds/{{namespace}}/offers/{{external_id}}"
            )
        return cls(found[1], found[2], found[3])

    @classmethod
    def of_document(cls, pk: str) -> OfferName:
        """Return the parts of the key of a document; a key that is no offer's is an external id without a seller."""
        parts = pk.split("/", 2)
        return cls(*parts) if len(parts) == 3 else cls("", "", pk)

    @property
    def parent(self) -> str:
        """The resource name of its namespace."""
        return namespace_name(self.seller_id, self.namespace)

    def __str__(self) -> str:
        """Return its resource name."""
        return f"{self.parent}/offers/{self.external_id}"

    @property
    def document_pk(self) -> str:
        """The key of its document; neither seller nor namespace can hold a slash, so no two offers share one."""
        return f"{self.seller_id}/{self.namespace}/{self.external_id}"
