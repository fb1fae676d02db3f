import datetime

from buf.validate import validate_pb2 as _validate_pb2
from classifeed.moderation.v1 import subject_pb2 as _subject_pb2
from classifeed.pictures.v1 import picture_pb2 as _picture_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OfferStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OFFER_STATUS_UNSPECIFIED: _ClassVar[OfferStatus]
    OFFER_STATUS_PENDING: _ClassVar[OfferStatus]
    OFFER_STATUS_ACTIVE: _ClassVar[OfferStatus]
    OFFER_STATUS_REJECTED: _ClassVar[OfferStatus]
    OFFER_STATUS_BANNED: _ClassVar[OfferStatus]
    OFFER_STATUS_REMOVED: _ClassVar[OfferStatus]

class OfferOrigin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OFFER_ORIGIN_UNSPECIFIED: _ClassVar[OfferOrigin]
    OFFER_ORIGIN_FEED: _ClassVar[OfferOrigin]
    OFFER_ORIGIN_MANUAL: _ClassVar[OfferOrigin]

class OfferChange(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OFFER_CHANGE_UNSPECIFIED: _ClassVar[OfferChange]
    OFFER_CHANGE_ADDED: _ClassVar[OfferChange]
    OFFER_CHANGE_UPDATED: _ClassVar[OfferChange]
    OFFER_CHANGE_REMOVED: _ClassVar[OfferChange]
    OFFER_CHANGE_MADE_MANUAL: _ClassVar[OfferChange]

class OfferPictureState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OFFER_PICTURE_STATE_UNSPECIFIED: _ClassVar[OfferPictureState]
    OFFER_PICTURE_STATE_AWAITED: _ClassVar[OfferPictureState]
    OFFER_PICTURE_STATE_STORED: _ClassVar[OfferPictureState]
    OFFER_PICTURE_STATE_FAILED: _ClassVar[OfferPictureState]
OFFER_STATUS_UNSPECIFIED: OfferStatus
OFFER_STATUS_PENDING: OfferStatus
OFFER_STATUS_ACTIVE: OfferStatus
OFFER_STATUS_REJECTED: OfferStatus
OFFER_STATUS_BANNED: OfferStatus
OFFER_STATUS_REMOVED: OfferStatus
OFFER_ORIGIN_UNSPECIFIED: OfferOrigin
OFFER_ORIGIN_FEED: OfferOrigin
OFFER_ORIGIN_MANUAL: OfferOrigin
OFFER_CHANGE_UNSPECIFIED: OfferChange
OFFER_CHANGE_ADDED: OfferChange
OFFER_CHANGE_UPDATED: OfferChange
OFFER_CHANGE_REMOVED: OfferChange
OFFER_CHANGE_MADE_MANUAL: OfferChange
OFFER_PICTURE_STATE_UNSPECIFIED: OfferPictureState
OFFER_PICTURE_STATE_AWAITED: OfferPictureState
OFFER_PICTURE_STATE_STORED: OfferPictureState
OFFER_PICTURE_STATE_FAILED: OfferPictureState

class OfferContent(_message.Message):
    __slots__ = ("category_id", "category_path", "title", "description", "url", "price", "old_price", "location", "address", "picture_urls", "attributes", "available", "vendor", "vendor_code", "model", "barcodes", "stock_quantity")
    CATEGORY_ID_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_PATH_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    OLD_PRICE_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    PICTURE_URLS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    VENDOR_FIELD_NUMBER: _ClassVar[int]
    VENDOR_CODE_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    BARCODES_FIELD_NUMBER: _ClassVar[int]
    STOCK_QUANTITY_FIELD_NUMBER: _ClassVar[int]
    category_id: str
    category_path: _containers.RepeatedScalarFieldContainer[str]
    title: str
    description: str
    url: str
    price: Price
    old_price: Price
    location: GeoPoint
    address: str
    picture_urls: _containers.RepeatedScalarFieldContainer[str]
    attributes: _containers.RepeatedCompositeFieldContainer[Attribute]
    available: bool
    vendor: str
    vendor_code: str
    model: str
    barcodes: _containers.RepeatedScalarFieldContainer[str]
    stock_quantity: int
    def __init__(self, category_id: _Optional[str] = ..., category_path: _Optional[_Iterable[str]] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., url: _Optional[str] = ..., price: _Optional[_Union[Price, _Mapping]] = ..., old_price: _Optional[_Union[Price, _Mapping]] = ..., location: _Optional[_Union[GeoPoint, _Mapping]] = ..., address: _Optional[str] = ..., picture_urls: _Optional[_Iterable[str]] = ..., attributes: _Optional[_Iterable[_Union[Attribute, _Mapping]]] = ..., available: _Optional[bool] = ..., vendor: _Optional[str] = ..., vendor_code: _Optional[str] = ..., model: _Optional[str] = ..., barcodes: _Optional[_Iterable[str]] = ..., stock_quantity: _Optional[int] = ...) -> None: ...

class Price(_message.Message):
    __slots__ = ("amount_micros", "currency_code")
    AMOUNT_MICROS_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_CODE_FIELD_NUMBER: _ClassVar[int]
    amount_micros: int
    currency_code: str
    def __init__(self, amount_micros: _Optional[int] = ..., currency_code: _Optional[str] = ...) -> None: ...

class GeoPoint(_message.Message):
    __slots__ = ("latitude", "longitude")
    LATITUDE_FIELD_NUMBER: _ClassVar[int]
    LONGITUDE_FIELD_NUMBER: _ClassVar[int]
    latitude: float
    longitude: float
    def __init__(self, latitude: _Optional[float] = ..., longitude: _Optional[float] = ...) -> None: ...

class Attribute(_message.Message):
    __slots__ = ("name", "value", "unit")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    unit: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ..., unit: _Optional[str] = ...) -> None: ...

class Offer(_message.Message):
    __slots__ = ("name", "seller_id", "namespace", "external_id", "status", "origin", "content", "published_content", "last_task_id", "version", "published_version", "moderation", "create_time", "update_time", "last_change", "waiting_task_id", "waiting_content", "ban", "text_request_time", "pictures")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_CONTENT_FIELD_NUMBER: _ClassVar[int]
    LAST_TASK_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_VERSION_FIELD_NUMBER: _ClassVar[int]
    MODERATION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_CHANGE_FIELD_NUMBER: _ClassVar[int]
    WAITING_TASK_ID_FIELD_NUMBER: _ClassVar[int]
    WAITING_CONTENT_FIELD_NUMBER: _ClassVar[int]
    BAN_FIELD_NUMBER: _ClassVar[int]
    TEXT_REQUEST_TIME_FIELD_NUMBER: _ClassVar[int]
    PICTURES_FIELD_NUMBER: _ClassVar[int]
    name: str
    seller_id: str
    namespace: str
    external_id: str
    status: OfferStatus
    origin: OfferOrigin
    content: OfferContent
    published_content: OfferContent
    last_task_id: int
    version: int
    published_version: int
    moderation: str
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    last_change: OfferChange
    waiting_task_id: int
    waiting_content: OfferContent
    ban: _subject_pb2.Ban
    text_request_time: _timestamp_pb2.Timestamp
    pictures: _containers.RepeatedCompositeFieldContainer[OfferPicture]
    def __init__(self, name: _Optional[str] = ..., seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., external_id: _Optional[str] = ..., status: _Optional[_Union[OfferStatus, str]] = ..., origin: _Optional[_Union[OfferOrigin, str]] = ..., content: _Optional[_Union[OfferContent, _Mapping]] = ..., published_content: _Optional[_Union[OfferContent, _Mapping]] = ..., last_task_id: _Optional[int] = ..., version: _Optional[int] = ..., published_version: _Optional[int] = ..., moderation: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_change: _Optional[_Union[OfferChange, str]] = ..., waiting_task_id: _Optional[int] = ..., waiting_content: _Optional[_Union[OfferContent, _Mapping]] = ..., ban: _Optional[_Union[_subject_pb2.Ban, _Mapping]] = ..., text_request_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., pictures: _Optional[_Iterable[_Union[OfferPicture, _Mapping]]] = ...) -> None: ...

class OfferPicture(_message.Message):
    __slots__ = ("url", "state", "info", "failure", "attempt", "request_time", "task_id", "ordinal", "line")
    URL_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_TIME_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    ORDINAL_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    url: str
    state: OfferPictureState
    info: _picture_pb2.PictureInfo
    failure: _picture_pb2.LoadFailure
    attempt: int
    request_time: _timestamp_pb2.Timestamp
    task_id: int
    ordinal: int
    line: int
    def __init__(self, url: _Optional[str] = ..., state: _Optional[_Union[OfferPictureState, str]] = ..., info: _Optional[_Union[_picture_pb2.PictureInfo, _Mapping]] = ..., failure: _Optional[_Union[_picture_pb2.LoadFailure, _Mapping]] = ..., attempt: _Optional[int] = ..., request_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., task_id: _Optional[int] = ..., ordinal: _Optional[int] = ..., line: _Optional[int] = ...) -> None: ...
