from classifeed.offers.v1 import offer_pb2 as _offer_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LoadMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOAD_MODE_UNSPECIFIED: _ClassVar[LoadMode]
    LOAD_MODE_REPLACE: _ClassVar[LoadMode]
    LOAD_MODE_PATCH: _ClassVar[LoadMode]

class Disposition(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DISPOSITION_UNSPECIFIED: _ClassVar[Disposition]
    DISPOSITION_DELETE: _ClassVar[Disposition]
    DISPOSITION_MAKE_MANUAL: _ClassVar[Disposition]
    DISPOSITION_DELETE_ALL: _ClassVar[Disposition]

class HoldReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HOLD_REASON_UNSPECIFIED: _ClassVar[HoldReason]
    HOLD_REASON_REMOVALS: _ClassVar[HoldReason]
    HOLD_REASON_NO_OFFERS: _ClassVar[HoldReason]
    HOLD_REASON_PRICES: _ClassVar[HoldReason]
    HOLD_REASON_UNAVAILABLE: _ClassVar[HoldReason]

class IssueLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ISSUE_LEVEL_UNSPECIFIED: _ClassVar[IssueLevel]
    ISSUE_LEVEL_ERROR: _ClassVar[IssueLevel]
    ISSUE_LEVEL_WARNING: _ClassVar[IssueLevel]

class IssueKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ISSUE_KIND_UNSPECIFIED: _ClassVar[IssueKind]
    ISSUE_KIND_VALIDATION: _ClassVar[IssueKind]
    ISSUE_KIND_CATEGORY: _ClassVar[IssueKind]
    ISSUE_KIND_GEOCODING: _ClassVar[IssueKind]
    ISSUE_KIND_BANNED: _ClassVar[IssueKind]
    ISSUE_KIND_DUPLICATE: _ClassVar[IssueKind]
    ISSUE_KIND_PICTURE: _ClassVar[IssueKind]
LOAD_MODE_UNSPECIFIED: LoadMode
LOAD_MODE_REPLACE: LoadMode
LOAD_MODE_PATCH: LoadMode
DISPOSITION_UNSPECIFIED: Disposition
DISPOSITION_DELETE: Disposition
DISPOSITION_MAKE_MANUAL: Disposition
DISPOSITION_DELETE_ALL: Disposition
HOLD_REASON_UNSPECIFIED: HoldReason
HOLD_REASON_REMOVALS: HoldReason
HOLD_REASON_NO_OFFERS: HoldReason
HOLD_REASON_PRICES: HoldReason
HOLD_REASON_UNAVAILABLE: HoldReason
ISSUE_LEVEL_UNSPECIFIED: IssueLevel
ISSUE_LEVEL_ERROR: IssueLevel
ISSUE_LEVEL_WARNING: IssueLevel
ISSUE_KIND_UNSPECIFIED: IssueKind
ISSUE_KIND_VALIDATION: IssueKind
ISSUE_KIND_CATEGORY: IssueKind
ISSUE_KIND_GEOCODING: IssueKind
ISSUE_KIND_BANNED: IssueKind
ISSUE_KIND_DUPLICATE: IssueKind
ISSUE_KIND_PICTURE: IssueKind

class HeldOffer(_message.Message):
    __slots__ = ("external_id", "title")
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    external_id: str
    title: str
    def __init__(self, external_id: _Optional[str] = ..., title: _Optional[str] = ...) -> None: ...

class HeldPrice(_message.Message):
    __slots__ = ("external_id", "title", "price", "new_price")
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    NEW_PRICE_FIELD_NUMBER: _ClassVar[int]
    external_id: str
    title: str
    price: _offer_pb2.Price
    new_price: _offer_pb2.Price
    def __init__(self, external_id: _Optional[str] = ..., title: _Optional[str] = ..., price: _Optional[_Union[_offer_pb2.Price, _Mapping]] = ..., new_price: _Optional[_Union[_offer_pb2.Price, _Mapping]] = ...) -> None: ...

class LoadHold(_message.Message):
    __slots__ = ("reasons", "removals", "offers", "sample_offers", "renamed", "renamed_from", "renamed_to", "changes", "moved_prices", "changed_prices", "price_ratio", "sample_prices", "turned_unavailable")
    REASONS_FIELD_NUMBER: _ClassVar[int]
    REMOVALS_FIELD_NUMBER: _ClassVar[int]
    OFFERS_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_OFFERS_FIELD_NUMBER: _ClassVar[int]
    RENAMED_FIELD_NUMBER: _ClassVar[int]
    RENAMED_FROM_FIELD_NUMBER: _ClassVar[int]
    RENAMED_TO_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    MOVED_PRICES_FIELD_NUMBER: _ClassVar[int]
    CHANGED_PRICES_FIELD_NUMBER: _ClassVar[int]
    PRICE_RATIO_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_PRICES_FIELD_NUMBER: _ClassVar[int]
    TURNED_UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    reasons: _containers.RepeatedScalarFieldContainer[HoldReason]
    removals: int
    offers: int
    sample_offers: _containers.RepeatedCompositeFieldContainer[HeldOffer]
    renamed: int
    renamed_from: str
    renamed_to: str
    changes: int
    moved_prices: int
    changed_prices: int
    price_ratio: float
    sample_prices: _containers.RepeatedCompositeFieldContainer[HeldPrice]
    turned_unavailable: int
    def __init__(self, reasons: _Optional[_Iterable[_Union[HoldReason, str]]] = ..., removals: _Optional[int] = ..., offers: _Optional[int] = ..., sample_offers: _Optional[_Iterable[_Union[HeldOffer, _Mapping]]] = ..., renamed: _Optional[int] = ..., renamed_from: _Optional[str] = ..., renamed_to: _Optional[str] = ..., changes: _Optional[int] = ..., moved_prices: _Optional[int] = ..., changed_prices: _Optional[int] = ..., price_ratio: _Optional[float] = ..., sample_prices: _Optional[_Iterable[_Union[HeldPrice, _Mapping]]] = ..., turned_unavailable: _Optional[int] = ...) -> None: ...

class IssueParameter(_message.Message):
    __slots__ = ("name", "text", "number")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    name: str
    text: str
    number: int
    def __init__(self, name: _Optional[str] = ..., text: _Optional[str] = ..., number: _Optional[int] = ...) -> None: ...

class OfferError(_message.Message):
    __slots__ = ("task", "error_id", "external_id", "ordinal", "level", "kind", "code", "field", "line", "column", "path", "excerpt", "value", "expected", "title", "message", "suggestion", "count", "parameters")
    TASK_FIELD_NUMBER: _ClassVar[int]
    ERROR_ID_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    ORDINAL_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    EXCERPT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SUGGESTION_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    task: str
    error_id: str
    external_id: str
    ordinal: int
    level: IssueLevel
    kind: IssueKind
    code: str
    field: str
    line: int
    column: int
    path: str
    excerpt: str
    value: str
    expected: str
    title: str
    message: str
    suggestion: str
    count: int
    parameters: _containers.RepeatedCompositeFieldContainer[IssueParameter]
    def __init__(self, task: _Optional[str] = ..., error_id: _Optional[str] = ..., external_id: _Optional[str] = ..., ordinal: _Optional[int] = ..., level: _Optional[_Union[IssueLevel, str]] = ..., kind: _Optional[_Union[IssueKind, str]] = ..., code: _Optional[str] = ..., field: _Optional[str] = ..., line: _Optional[int] = ..., column: _Optional[int] = ..., path: _Optional[str] = ..., excerpt: _Optional[str] = ..., value: _Optional[str] = ..., expected: _Optional[str] = ..., title: _Optional[str] = ..., message: _Optional[str] = ..., suggestion: _Optional[str] = ..., count: _Optional[int] = ..., parameters: _Optional[_Iterable[_Union[IssueParameter, _Mapping]]] = ...) -> None: ...
