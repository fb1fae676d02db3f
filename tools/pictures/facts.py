"""Facts for the diagram, read from the service table, the policy, the sources and ARCHITECTURE.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from classifeed_cli.platform.planning.service_table import ServiceSpec, ServiceTable
from classifeed_domain.policy import CALLERS, SERVED_BY
from classifeed_domain.topics import (
    FEEDS_OFFER_REQUESTS,
    FEEDS_OFFER_RESULTS,
    MODERATION_OUTCOMES,
    MODERATION_REQUESTS,
    OFFERS_CHANGED,
    PICTURES_COPIES,
    PICTURES_DOWNLOADS,
    PICTURES_EVENTS,
    PICTURES_LOADS,
    PICTURES_REQUESTS,
    PICTURES_RESULTS,
    index_documents,
)
from tools.pictures import ROOT

# Names of the topics in the sources.
_TOPICS: Final[Mapping[str, str]] = {
    "FEEDS_OFFER_REQUESTS": FEEDS_OFFER_REQUESTS,
    "FEEDS_OFFER_RESULTS": FEEDS_OFFER_RESULTS,
    "OFFERS_CHANGED": OFFERS_CHANGED,
    "index_documents": index_documents("offers"),
    "MODERATION_REQUESTS": MODERATION_REQUESTS,
    "MODERATION_OUTCOMES": MODERATION_OUTCOMES,
    "PICTURES_COPIES": PICTURES_COPIES,
    "PICTURES_DOWNLOADS": PICTURES_DOWNLOADS,
    "PICTURES_EVENTS": PICTURES_EVENTS,
    "PICTURES_LOADS": PICTURES_LOADS,
    "PICTURES_REQUESTS": PICTURES_REQUESTS,
    "PICTURES_RESULTS": PICTURES_RESULTS,
}
_OWNS: Final = re.compile(r"^\| \[(\w+)\]\(services/\w+\) \| ([^|]+) \|", re.MULTILINE)
_CONSUMED: Final = re.compile(r"OrderedConsumer\((?:[^()]|\([^()]*\))*?topics=\[?([\w.]+)")


@dataclass(frozen=True, slots=True)
class Service:
    """A service.

    Attributes:
        name: name of the service.
        owns: its data, as ARCHITECTURE.md says.
        stores: PostgreSQL and S3, if it uses them.
        callers: services that may call it over gRPC, in the order of the table.
        reads: topics that it consumes.
        writes: topics that it produces.
        between_roles: topics from one of its roles to another.
    """

    name: str
    owns: str
    stores: tuple[str, ...]
    callers: tuple[str, ...]
    reads: frozenset[str]
    writes: frozenset[str]
    between_roles: frozenset[str] = frozenset()


def facts_of() -> list[Service]:
    """Return the services of the suite, in the order in which an offer passes through them.

    Raises:
        ValueError: the folders of services differ from the services in the table.
    """
    table = ServiceTable.load().services
    folders = {path.parent.name for path in (ROOT / "services").glob("*/pyproject.toml")}
    if folders != set(table):
        raise ValueError(f"services.toml and the folders in services/ differ: {sorted(folders ^ set(table))}")
    owns = dict(_OWNS.findall((ROOT / "ARCHITECTURE.md").read_text("utf-8")))
    topics = _find_topics(table)
    return [_service(spec, owns[spec.name], list(table), *topics[spec.name]) for spec in table.values()]


def _service(spec: ServiceSpec, owns: str, names: list[str], *topics: frozenset[str]) -> Service:
    return Service(
        spec.name,
        owns,
        tuple(store for store, used in (("PostgreSQL", spec.database), ("S3", spec.s3)) if used),
        tuple(name for name in names if name in _callers_of(spec.name)),
        *topics,
    )


def _callers_of(name: str) -> set[str]:
    return {
        caller
        for method, callers in CALLERS.items()
        if name in SERVED_BY[method.split("/")[1]]
        for caller in callers
    }  # fmt: skip


def _find_topics(names: Iterable[str]) -> dict[str, tuple[frozenset[str], frozenset[str], frozenset[str]]]:
    """Return the topics that each service reads, the topics that it writes, and the topics between its roles.

    A service writes the topics that its source contains and that it does not read. If the consumers of a service get
    their topics at run time, the other services decide: it reads what they write, and writes what they read. The
    remaining topics are between its roles.
    """
    found, open_names = {}, {}
    for name in names:
        named, consumed = _named_by(name), _consumed_by(name)
        if consumed is None:
            open_names[name] = named
        else:
            found[name] = (consumed, named - consumed, frozenset[str]())
    read = {topic for reads, _, _ in found.values() for topic in reads}
    written = {topic for _, writes, _ in found.values() for topic in writes}
    for name, named in open_names.items():
        found[name] = (named & written, named & read, named - written - read)
    return found


def _source_of(name: str) -> str:
    package = ROOT / "services" / name / "src" / f"classifeed_{name}"
    return "\n".join(path.read_text("utf-8") for path in sorted(package.rglob("*.py")))


def _named_by(name: str) -> frozenset[str]:
    source = _source_of(name)
    return frozenset(topic for word, topic in _TOPICS.items() if re.search(rf"\b{word}\b", source))


def _consumed_by(name: str) -> frozenset[str] | None:
    """Return the topics of the consumers of a service; None if some are known at run time only."""
    topics = [_TOPICS.get(word) for word in _CONSUMED.findall(_source_of(name))]
    return None if None in topics else frozenset(topic for topic in topics if topic)
