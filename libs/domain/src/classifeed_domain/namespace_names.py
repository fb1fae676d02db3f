"""Resource names of namespaces, sellers/{seller}/feeds/{namespace}, and of numbered resources in them."""

from __future__ import annotations

import re
from typing import Final

_NAMESPACE: Final = r"sellers/(?P<seller>[^/]+)/feeds/(?P<namespace>[^/]+)"
# The same pattern as in the protos.
_SELLER_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PARENT: Final = re.compile(_NAMESPACE)


def is_seller_id(text: str) -> bool:
    """Return whether a text can be the id of a seller."""
    return _SELLER_ID.fullmatch(text) is not None


def parse_namespace(name: str) -> tuple[str, str]:
    """Return seller and namespace of a resource name.

    Raises:
        ValueError: The text is not the name of a namespace.
    """
    match = _PARENT.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is not a name such as sellers/shop/feeds/default")
    return match["seller"], match["namespace"]


def namespace_name(seller_id: str, namespace: str) -> str:
    """Return the resource name of a namespace."""
    return f"sellers/{seller_id}/feeds/{namespace}"


def parse_numbered(name: str, collection: str) -> tuple[str, str, int]:
    """Return seller, namespace and number of a resource name such as sellers/shop/feeds/default/tasks/1.

    Args:
        name: Resource name.
        collection: Collection of the numbered resource, such as tasks.

    Raises:
        ValueError: The text is not a name of this collection.
    """
    match = re.fullmatch(f"{_NAMESPACE}/{collection}/(?P<number>[1-9][0-9]*)", name)
    if match is None:
        raise ValueError(f"{name!r} is not a name such as sellers/shop/feeds/default/{collection}/1")
    return match["seller"], match["namespace"], int(match["number"])
