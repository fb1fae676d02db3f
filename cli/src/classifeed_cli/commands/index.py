"""`classifeed index …`: state of the search index, and its repair."""

from __future__ import annotations

import uuid
from typing import Annotated

import typer

from classifeed.documents.v1 import indexer_service_pb2
from classifeed.offers.v1 import offer_service_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_cli.messages import document_of
from classifeed_cli.scope import NamespaceOption, SellerOption, parent_of
from classifeed_cli.session import Session, with_session

_SHARDS = 64
_app = typer.Typer(help="State of the search index, and its repair.", no_args_is_help=True)
_Client = Annotated[str, typer.Option("--client", help="Client of the index, such as `offers`.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(_app, name="index")


@_app.command()
@with_session
def status(
    session: Session,
    client: _Client = "offers",
) -> None:
    """Show what is published, delivered and searchable, and whether the index equals the registry."""
    out = session.out
    with session.index_client() as calls:
        publication = calls.get_publication()
        delivery = calls.get_indexer_status(client)
        index = calls.get_index_status(client)
    for line in (*_publication_lines(publication), *_delivery_lines(delivery), *_index_lines(index)):
        out.say(line)
    out.document(
        {"publication": document_of(publication), "delivery": document_of(delivery), "index": document_of(index)}
    )


@_app.command()
@with_session
def republish(
    session: Session,
    seller: SellerOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Publish all offers again, or those of a seller; repairs a registry that lacks some."""
    out = session.out
    parent = parent_of(seller, namespace)
    with session.index_client() as calls:
        number = calls.republish_offers(parent, uuid.uuid4().hex)
    out.say(f"republication {number} has begun; `classifeed index status` shows its progress")
    out.document({"republication_id": str(number)})


@_app.command()
@with_session
def refill(
    session: Session,
    client: _Client = "offers",
    shard: Annotated[list[int] | None, typer.Option(min=0, max=_SHARDS - 1, help="Shard; may be repeated.")] = None,
) -> None:
    """Deliver all documents of the registry to the index again, or those of some shards."""
    out = session.out
    with session.index_client() as calls:
        shards = calls.request_refill(client, shard or [])
    out.say(f"{shards} shards are being refilled; `classifeed index status` shows their progress")
    out.document({"shards": shards})


def _publication_lines(publication: offer_service_pb2.Publication) -> list[str]:
    lines = [
        f"offers: {publication.unpublished_offers} wait to be published, "
        f"{publication.refused_offers} are refused by the receiver"
    ]
    lines += [f"  refused: {offer.name} in version {offer.version}: {offer.reasons}" for offer in publication.refused]
    lines += [
        f"  republication {each.republication_id} of {each.parent or 'all offers'}: "
        f"{each.offers} so far ({each.reason})"
        for each in publication.republications
    ]
    return lines


def _delivery_lines(delivery: indexer_service_pb2.IndexerStatus) -> list[str]:
    held = sum(1 for shard in delivery.shards if shard.holder)
    refills = [shard for shard in delivery.shards if shard.HasField("refill")]
    lines = [f"indexer: {held} of {_SHARDS} shards are being delivered"]
    lines += [
        f"  shard {shard.shard} is being refilled: {shard.refill.documents} documents so far ({shard.refill.reason})"
        for shard in refills
    ]
    return lines


def _index_lines(index: search_service_pb2.IndexStatus) -> list[str]:
    lines = [f"index: {index.documents} documents; {index.equal_shards} of {_SHARDS} shards are equal to the registry"]
    if index.differing_shards:
        lines.append(f"  shards that differ from the registry: {', '.join(map(str, index.differing_shards))}")
    if index.catch_up_records:
        lines.append(f"  catching up: {index.catch_up_records} records that arrived while the searcher was stopped")
    if index.HasField("rebuild"):
        searched = (
            "the previous index is searched meanwhile" if index.rebuild.serves_former else "not searchable until then"
        )
        lines.append(
            f"  being rebuilt from the registry, {searched}: {index.rebuild.shards} of {_SHARDS} shards, "
            f"{index.rebuild.documents} documents ({index.rebuild.reason})"
        )
    return lines
