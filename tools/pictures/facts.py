"""What the diagram shows, read from where the suite has it: the service table, the policy, the sources, one page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from classifeed_cli.platform.service_table import ServiceSpec, ServiceTable
from classifeed_domain.policy import CALLERS, SERVED_BY
from classifeed_domain.topics import (
    FEEDS_OFFER_REQUESTS,
    FEEDS_OFFER_RESULTS,
    MODERATION_OUTCOMES,
    MODERATION_REQUESTS,
    OFFERS_CHANGED,
    index_documents,
)
from tools.pictures import ROOT

# How the sources name the topics.
_TOPICS: Final[Mapping[str, str]] = {
    "FEEDS_OFFER_REQUESTS": FEEDS_OFFER_REQUESTS,
    "FEEDS_OFFER_RESULTS": FEEDS_OFFER_RESULTS,
    "OFFERS_CHANGED": OFFERS_CHANGED,
    "index_documents": index_documents("offers"),
    "MODERATION_REQUESTS": MODERATION_REQUESTS,
    "MODERATION_OUTCOMES": MODERATION_OUTCOMES,
}
_OWNS: Final = re.compile(r"^\| \[(\w+)\]\(services/\w+\) \| ([^|]+) \|", re.MULTILINE)
_CONSUMED: Final = re.compile(r"OrderedConsumer\((?:[^()]|\([^()]*\))*?topics=\[([\w.]+)")


@dataclass(frozen=True, slots=True)
class Service:
    """A service.

    Attributes:
        name: its name.
        owns: what it owns, as ARCHITECTURE.md says.
        stores: what it keeps things in.
        callers: services that may call it over gRPC, in the order of the table.
        reads: topics that it consumes.
        writes: topics that it produces.
    """

    name: str
    owns: str
    stores: tuple[str, ...]
    callers: tuple[str, ...]
    reads: frozenset[str]
    writes: frozenset[str]


def facts_of() -> list[Service]:
    """Return the services of the suite, in the order in which an offer passes through them.

    Raises:
        ValueError: there is a folder of a service that the table lacks, or the other way round.
    """
    table = ServiceTable.load().services
    folders = {path.parent.name for path in (ROOT / "services").glob("*/pyproject.toml")}
    if folders != set(table):
        raise ValueError(f"services of the table are not those of the folders: {sorted(folders ^ set(table))}")
    owns = dict(_OWNS.findall((ROOT / "ARCHITECTURE.md").read_text("utf-8")))
    return [_service(spec, owns[spec.name], list(table)) for spec in table.values()]


def _service(spec: ServiceSpec, owns: str, names: list[str]) -> Service:
    reads, writes = _topics_of(spec.name)
    return Service(
        spec.name,
        owns,
        tuple(store for store, used in (("PostgreSQL", spec.database), ("S3", spec.s3)) if used),
        tuple(name for name in names if name in _callers_of(spec.name)),
        reads,
        writes,
    )


def _callers_of(name: str) -> set[str]:
    return {
        caller
        for method, callers in CALLERS.items()
        if name in SERVED_BY[method.split("/")[1]]
        for caller in callers
    }  # fmt: skip


def _topics_of(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the topics that a service reads, and those that it names besides: it writes them."""
    package = ROOT / "services" / name / "src" / f"classifeed_{name}"
    source = "\n".join(path.read_text("utf-8") for path in sorted(package.rglob("*.py")))
    named = frozenset(topic for word, topic in _TOPICS.items() if re.search(rf"\b{word}\b", source))
    # Topics of pictures have no place in the diagram yet.
    consumed = [_TOPICS.get(word) for word in _CONSUMED.findall(source) if not word.startswith("PICTURES_")]
    # A consumer of a topic that is known at run time alone reads all that the service names.
    reads = named if None in consumed else frozenset(topic for topic in consumed if topic)
    return reads, named - reads
