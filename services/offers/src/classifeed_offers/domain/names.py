"""Resource names of namespaces: sellers/{seller}/feeds/{namespace}."""

from __future__ import annotations

import re

from classifeed_offers.domain.offers import Namespace

_PARENT = re.compile(r"sellers/([^/]+)/feeds/([^/]+)")


def parse_parent(name: str) -> Namespace:
    """Return the namespace of sellers/{seller}/feeds/{namespace}.

    Raises:
        ValueError: it is no such name.
    """
    found = _PARENT.fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} is not of the form sellers/{{seller}}/feeds/{{namespace}}")
    return Namespace(found[1], found[2])
