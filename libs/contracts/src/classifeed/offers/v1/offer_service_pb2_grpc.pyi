from collections.abc import AsyncIterator, Awaitable
from typing import Any

import grpc.aio

import classifeed.offers.v1.offer_pb2
import classifeed.offers.v1.offer_service_pb2

class OfferServiceStub:
    def __init__(self, channel: grpc.aio.Channel) -> None: ...
    GetOffer: grpc.aio.UnaryUnaryMultiCallable[classifeed.offers.v1.offer_service_pb2.GetOfferRequest, classifeed.offers.v1.offer_pb2.Offer]
    ListOffers: grpc.aio.UnaryUnaryMultiCallable[classifeed.offers.v1.offer_service_pb2.ListOffersRequest, classifeed.offers.v1.offer_service_pb2.ListOffersResponse]
    RepublishOffers: grpc.aio.UnaryUnaryMultiCallable[classifeed.offers.v1.offer_service_pb2.RepublishOffersRequest, classifeed.offers.v1.offer_service_pb2.RepublishOffersResponse]
    GetPublication: grpc.aio.UnaryUnaryMultiCallable[classifeed.offers.v1.offer_service_pb2.GetPublicationRequest, classifeed.offers.v1.offer_service_pb2.Publication]
    ExportPictureUrls: grpc.aio.UnaryStreamMultiCallable[classifeed.offers.v1.offer_service_pb2.ExportPictureUrlsRequest, classifeed.offers.v1.offer_service_pb2.ExportPictureUrlsResponse]

class OfferServiceServicer:
    def GetOffer(self, request: classifeed.offers.v1.offer_service_pb2.GetOfferRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.offers.v1.offer_pb2.Offer]: ...
    def ListOffers(self, request: classifeed.offers.v1.offer_service_pb2.ListOffersRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.offers.v1.offer_service_pb2.ListOffersResponse]: ...
    def RepublishOffers(self, request: classifeed.offers.v1.offer_service_pb2.RepublishOffersRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.offers.v1.offer_service_pb2.RepublishOffersResponse]: ...
    def GetPublication(self, request: classifeed.offers.v1.offer_service_pb2.GetPublicationRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> Awaitable[classifeed.offers.v1.offer_service_pb2.Publication]: ...
    def ExportPictureUrls(self, request: classifeed.offers.v1.offer_service_pb2.ExportPictureUrlsRequest, context: grpc.aio.ServicerContext[Any, Any], /) -> AsyncIterator[classifeed.offers.v1.offer_service_pb2.ExportPictureUrlsResponse]: ...

def add_OfferServiceServicer_to_server(servicer: OfferServiceServicer, server: grpc.aio.Server) -> None: ...
