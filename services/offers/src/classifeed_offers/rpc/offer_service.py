"""OfferService: reads offers, changes offers that are kept by hand, and starts republications."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from classifeed.offers.v1.offer_pb2 import Offer, OfferContent, OfferStatus
from classifeed.offers.v1.offer_service_pb2 import (
    DeleteOfferRequest,
    ExportPictureUrlsRequest,
    ExportPictureUrlsResponse,
    GetOfferRequest,
    GetPublicationRequest,
    ListOffersRequest,
    ListOffersResponse,
    Publication,
    RefusedOffer,
    Republication,
    RepublishOffersRequest,
    RepublishOffersResponse,
    RequestPicturesRequest,
    RequestPicturesResponse,
    UpdateOfferRequest,
)
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceServicer
from classifeed_common.db import Database
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.paging import read_page_token, write_page_token
from classifeed_domain.namespace_names import parse_namespace
from classifeed_domain.offer_names import OfferName
from classifeed_jobs import JobStore
from classifeed_offers.app.manual.delete_offer import delete_offer
from classifeed_offers.app.manual.update_offer import UpdateOffer
from classifeed_offers.app.pictures.export_picture_urls import export_picture_urls
from classifeed_offers.app.publishing.republish_offers import Republisher
from classifeed_offers.domain.offers import Namespace, Status
from classifeed_offers.domain.patch import offer_not_found
from classifeed_offers.domain.pictures import read_pictures
from classifeed_offers.jobs.request_pictures import enqueue_again
from classifeed_offers.store import publishing, reading, republishing
from classifeed_offers.store.reading import OfferRow
from classifeed_offers.store.republishing import Scope

_DEFAULT_PAGE_OFFERS: Final = 100
_SHOWN_REFUSED: Final = 100
# A page of large offers must fit into a message: it ends early, and the token continues after its last offer.
_PAGE_LIMIT_BYTES: Final = 4 * 1024 * 1024


class OfferService(OfferServiceServicer):
    """Serves reads of offers, changes of single offers, republications and requests of pictures.

    Args:
        database: database of the offers.
        update_offer: changes an offer that is kept by hand.
        republisher: begins republications.
        count_due: returns the number of offers that wait to be pushed.
        picture_jobs: store of the job that requests pictures again; None: no pictures are requested.
    """

    def __init__(
        self,
        database: Database,
        update_offer: UpdateOffer,
        republisher: Republisher,
        count_due: Callable[[], Awaitable[int]],
        picture_jobs: JobStore | None,
    ) -> None:
        self._database = database
        self._update_offer = update_offer
        self._republisher = republisher
        self._count_due = count_due
        self._picture_jobs = picture_jobs

    async def GetOffer(self, request: GetOfferRequest, context: Context) -> Offer:
        """Return one offer, even if it is removed.

        Raises:
            NotFound: the namespace never had the offer.
        """
        name = _parse_name(request.name)
        namespace = Namespace(name.seller_id, name.namespace)
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            row = None if "\0" in name.external_id else await reading.find_offer(tx, namespace, name.external_id)
        if row is None:
            raise offer_not_found(name)
        return offer_message(namespace, row)

    async def UpdateOffer(self, request: UpdateOfferRequest, context: Context) -> Offer:
        """Change an offer that is kept by hand."""
        name = _parse_name(request.name)
        paths = request.update_mask.paths
        version = request.version
        row = await self._update_offer(name, request.content, paths, version=version, timeout_s=remaining_s())
        return offer_message(Namespace(name.seller_id, name.namespace), row)

    async def DeleteOffer(self, request: DeleteOfferRequest, context: Context) -> Offer:
        """Remove an offer that is kept by hand."""
        name = _parse_name(request.name)
        row = await delete_offer(self._database, name, version=request.version, timeout_s=remaining_s())
        return offer_message(Namespace(name.seller_id, name.namespace), row)

    async def ListOffers(self, request: ListOffersRequest, context: Context) -> ListOffersResponse:
        """Return a page of a namespace's offers by external id.

        Raises:
            InvalidArgument: this service did not issue the page token.
        """
        namespace = Namespace(*parse_namespace(request.parent))
        limit = request.page_size or _DEFAULT_PAGE_OFFERS
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            rows = await reading.list_offers(
                tx, namespace, after=read_page_token(request.page_token), status=_status_of(request), limit=limit + 1
            )
        page = rows[: _fitting(rows[:limit])]
        return ListOffersResponse(
            offers=[offer_message(namespace, row) for row in page],
            next_page_token=write_page_token(page[-1].external_id) if len(page) < len(rows) else "",
        )

    async def RepublishOffers(self, request: RepublishOffersRequest, context: Context) -> RepublishOffersResponse:
        """Begin a republication."""
        number = await self._republisher.request(_scope_of(request.parent), request.request_id or None)
        return RepublishOffersResponse(republication_id=number or 0)

    async def GetPublication(self, request: GetPublicationRequest, context: Context) -> Publication:
        """Return the number of unpublished offers, the open republications and the refused documents."""
        unpublished = await self._count_due()
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            refused = await publishing.list_refused(tx, _SHOWN_REFUSED)
            return Publication(
                unpublished_offers=unpublished,
                refused_offers=await publishing.count_refused(tx),
                refused=[
                    RefusedOffer(
                        name=str(OfferName(it.seller_id, it.namespace, it.external_id)),
                        version=it.version,
                        reasons=it.reasons,
                        refuse_time=it.refused_at,
                    )
                    for it in refused
                ],
                republications=map(_republication_message, await republishing.list_open(tx)),
            )

    async def ExportPictureUrls(
        self, request: ExportPictureUrlsRequest, context: Context
    ) -> AsyncIterator[ExportPictureUrlsResponse]:
        """Yield the links of all pictures of offers."""
        async for part in export_picture_urls(self._database):
            yield part

    async def RequestPictures(self, request: RequestPicturesRequest, context: Context) -> RequestPicturesResponse:
        """Enqueue a job that requests pictures again."""
        if self._picture_jobs is None:
            return RequestPicturesResponse()
        scope = _scope_of(request.parent)
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            job_id = await enqueue_again(
                self._picture_jobs,
                tx,
                seller_id=scope.seller_id or "",
                namespace=scope.namespace or "",
                request_id=request.request_id,
            )
        return RequestPicturesResponse(job_id=str(job_id))


def _parse_name(name: str) -> OfferName:
    try:
        return OfferName.parse(name)
    except ValueError as error:
        violation = FieldViolation("name", str(error))
        raise InvalidArgument("OFFER_NAME_INVALID", str(error), violations=[violation]) from error


def _scope_of(parent: str) -> Scope:
    seller, _, namespace = parent.removeprefix("sellers/").partition("/feeds/")
    return Scope(seller or None, namespace or None)


def _republication_message(it: republishing.Republication) -> Republication:
    seller, namespace = it.scope
    parent = f"sellers/{seller}" + (f"/feeds/{namespace}" if namespace else "") if seller else ""
    return Republication(
        republication_id=it.republication_id,
        reason=it.reason,
        parent=parent,
        request_time=it.requested_at,
        offers=it.offers,
        mark_time=it.marked_at,
    )


def offer_message(namespace: Namespace, row: OfferRow) -> Offer:
    """Return an offer as a message of the contract."""
    offer = Offer(
        name=str(OfferName(*namespace, row.external_id)),
        seller_id=namespace.seller_id,
        namespace=namespace.namespace,
        external_id=row.external_id,
        status=f"OFFER_STATUS_{row.status}",
        origin=f"OFFER_ORIGIN_{row.origin}",
        content=OfferContent.FromString(row.content),
        last_task_id=row.last_task_id,
        version=row.version,
        published_version=row.published_version,
        moderation=row.moderation,
        create_time=row.created_at,
        update_time=row.updated_at,
        last_change=f"OFFER_CHANGE_{row.last_change}",
    )
    if row.published_content is not None:
        offer.published_content.ParseFromString(row.published_content)
    if row.ban is not None:
        offer.ban.ParseFromString(row.ban)
    if row.text_requested_at is not None:
        offer.text_request_time.FromDatetime(row.text_requested_at)
    offer.pictures.extend(read_pictures(row.pictures))
    if row.waiting_task_id is not None and row.waiting_content is not None:
        offer.waiting_task_id = row.waiting_task_id
        offer.waiting_content.ParseFromString(row.waiting_content)
    return offer


def _status_of(request: ListOffersRequest) -> Status | None:
    return Status(OfferStatus.Name(request.status).removeprefix("OFFER_STATUS_")) if request.status else None


def _fitting(rows: list[OfferRow]) -> int:
    """Return how many of the first rows fit into a page: at least one."""
    size = 0
    for count, row in enumerate(rows):
        size += len(row.content) + len(row.published_content or b"") + len(row.pictures or b"")
        if size > _PAGE_LIMIT_BYTES and count:
            return count
    return len(rows)
