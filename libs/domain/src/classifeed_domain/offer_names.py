"""Names of offers: as resources in the contracts, and as documents in the index. Writers and searches share them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from classifeed_domain.namespace_names import namespace_name

# The client of the registry and the index under which offers are documents.
DOCUMENT_CLIENT: Final = "offers"
# The document field with the seller of the offer.
SELLER_FIELD: Final = "seller"
# The document field with the time of the offer's last change.
CHANGE_TIME_FIELD: Final = "updated"
_NAME: Final = re.compile(r"sellers/([^/]+)/feeds/([^/]+)/offers/(.+)", re.DOTALL)


class OfferName(NamedTuple):
    """Name of an offer in a namespace of a seller. The external id may contain any character, slashes too."""

    seller_id: str
    namespace: str
    external_id: str

    @classmethod
    def parse(cls, name: str) -> OfferName:
        """Return the parts of a resource name.

        Raises:
            ValueError: The text is not the name of an offer.
        """
        found = _NAME.fullmatch(name)
        if found is None:
            raise ValueError(
                f"{name!r} is not of the form sellers/{{seller}}/feeds/{{namespace}}/offers/{{external_id}}"
            )
        return cls(found[1], found[2], found[3])

    @classmethod
    def of_document(cls, pk: str) -> OfferName:
        """Return the parts of a document's key. A key of another form becomes the external id, without a seller."""
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
        """Key of the offer's document. It is unique: sellers and namespaces cannot contain a slash."""
        return f"{self.seller_id}/{self.namespace}/{self.external_id}"
