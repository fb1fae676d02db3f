"""Namespaces: disjoint parts of a seller's offers."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, Self

from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_domain.namespace_names import namespace_name

DEFAULT_NAMESPACE: Final = "default"
_RESERVED: Final = re.compile(r"manual|parsed\..*")
_NAME: Final = re.compile(r"sellers/([A-Za-z0-9][A-Za-z0-9._-]{0,63})/feeds/([a-z0-9._-]{1,64})")


class NamespaceKey(NamedTuple):
    """One namespace of one seller."""

    seller_id: str
    namespace: str

    @property
    def name(self) -> str:
        """The resource name of the namespace, which is also the name of its feed."""
        return namespace_name(self.seller_id, self.namespace)

    @classmethod
    def parse(cls, name: str, *, field: str) -> Self:
        """Return the namespace of a resource name.

        Raises:
            InvalidArgument: the name is not one of a feed; the error names `field`.
        """
        found = _NAME.fullmatch(name)
        if found is None:
            raise InvalidArgument(
                "FEED_NAME_INVALID",
                f"{name!r} is not the name of a feed. Names have the form sellers/{{seller}}/feeds/{{namespace}}.",
                violations=[FieldViolation(field, "must be sellers/{seller}/feeds/{namespace}")],
            )
        return cls(*found.groups())


def namespace_to_load(given: str, *, field: str) -> str:
    """Return the namespace that a seller's file is loaded into.

    Raises:
        InvalidArgument: the namespace is reserved; the error names `field`.
    """
    namespace = given or DEFAULT_NAMESPACE
    if _RESERVED.fullmatch(namespace):
        raise InvalidArgument(
            "NAMESPACE_RESERVED",
            f"The namespace {namespace!r} is reserved: `manual`, and all names that begin with `parsed.`, are for "
            "offers that do not come from sellers' files. Choose another.",
            violations=[FieldViolation(field, "must not be `manual` or begin with `parsed.`")],
        )
    return namespace
