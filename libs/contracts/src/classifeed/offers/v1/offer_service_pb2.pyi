import datetime

from buf.validate import validate_pb2 as _validate_pb2
from classifeed.offers.v1 import offer_pb2 as _offer_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetOfferRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListOffersRequest(_message.Message):
    __slots__ = ("parent", "page_size", "page_token", "status")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    parent: str
    page_size: int
    page_token: str
    status: _offer_pb2.OfferStatus
    def __init__(self, parent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., status: _Optional[_Union[_offer_pb2.OfferStatus, str]] = ...) -> None: ...

class ListOffersResponse(_message.Message):
    __slots__ = ("offers", "next_page_token")
    OFFERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    offers: _containers.RepeatedCompositeFieldContainer[_offer_pb2.Offer]
    next_page_token: str
    def __init__(self, offers: _Optional[_Iterable[_Union[_offer_pb2.Offer, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class UpdateOfferRequest(_message.Message):
    __slots__ = ("name", "content", "update_mask", "version")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    content: _offer_pb2.OfferContent
    update_mask: _field_mask_pb2.FieldMask
    version: int
    def __init__(self, name: _Optional[str] = ..., content: _Optional[_Union[_offer_pb2.OfferContent, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., version: _Optional[int] = ...) -> None: ...

class DeleteOfferRequest(_message.Message):
    __slots__ = ("name", "version")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class RepublishOffersRequest(_message.Message):
    __slots__ = ("parent", "request_id")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    parent: str
    request_id: str
    def __init__(self, parent: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RepublishOffersResponse(_message.Message):
    __slots__ = ("republication_id",)
    REPUBLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    republication_id: int
    def __init__(self, republication_id: _Optional[int] = ...) -> None: ...

class GetPublicationRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefusedOffer(_message.Message):
    __slots__ = ("name", "version", "reasons", "refuse_time")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    REFUSE_TIME_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    reasons: str
    refuse_time: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ..., reasons: _Optional[str] = ..., refuse_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Republication(_message.Message):
    __slots__ = ("republication_id", "reason", "parent", "request_time", "offers", "mark_time")
    REPUBLICATION_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_TIME_FIELD_NUMBER: _ClassVar[int]
    OFFERS_FIELD_NUMBER: _ClassVar[int]
    MARK_TIME_FIELD_NUMBER: _ClassVar[int]
    republication_id: int
    reason: str
    parent: str
    request_time: _timestamp_pb2.Timestamp
    offers: int
    mark_time: _timestamp_pb2.Timestamp
    def __init__(self, republication_id: _Optional[int] = ..., reason: _Optional[str] = ..., parent: _Optional[str] = ..., request_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., offers: _Optional[int] = ..., mark_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Publication(_message.Message):
    __slots__ = ("unpublished_offers", "refused_offers", "refused", "republications")
    UNPUBLISHED_OFFERS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_OFFERS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    REPUBLICATIONS_FIELD_NUMBER: _ClassVar[int]
    unpublished_offers: int
    refused_offers: int
    refused: _containers.RepeatedCompositeFieldContainer[RefusedOffer]
    republications: _containers.RepeatedCompositeFieldContainer[Republication]
    def __init__(self, unpublished_offers: _Optional[int] = ..., refused_offers: _Optional[int] = ..., refused: _Optional[_Iterable[_Union[RefusedOffer, _Mapping]]] = ..., republications: _Optional[_Iterable[_Union[Republication, _Mapping]]] = ...) -> None: ...

class ExportPictureUrlsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ExportPictureUrlsResponse(_message.Message):
    __slots__ = ("snapshot_time", "urls", "end")
    SNAPSHOT_TIME_FIELD_NUMBER: _ClassVar[int]
    URLS_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    snapshot_time: _timestamp_pb2.Timestamp
    urls: PictureUrls
    end: PictureUrlsEnd
    def __init__(self, snapshot_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., urls: _Optional[_Union[PictureUrls, _Mapping]] = ..., end: _Optional[_Union[PictureUrlsEnd, _Mapping]] = ...) -> None: ...

class PictureUrls(_message.Message):
    __slots__ = ("urls",)
    URLS_FIELD_NUMBER: _ClassVar[int]
    urls: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, urls: _Optional[_Iterable[str]] = ...) -> None: ...

class PictureUrlsEnd(_message.Message):
    __slots__ = ("count", "digest")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    count: int
    digest: bytes
    def __init__(self, count: _Optional[int] = ..., digest: _Optional[bytes] = ...) -> None: ...

class RequestPicturesRequest(_message.Message):
    __slots__ = ("parent", "request_id")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    parent: str
    request_id: str
    def __init__(self, parent: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RequestPicturesResponse(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...
