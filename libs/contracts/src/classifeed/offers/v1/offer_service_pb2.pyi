from buf.validate import validate_pb2 as _validate_pb2
from classifeed.offers.v1 import offer_pb2 as _offer_pb2
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
