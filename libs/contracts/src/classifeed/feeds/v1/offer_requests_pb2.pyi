from classifeed.feeds.v1 import load_pb2 as _load_pb2
from classifeed.offers.v1 import offer_pb2 as _offer_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RecordKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECORD_KIND_UNSPECIFIED: _ClassVar[RecordKind]
    RECORD_KIND_OFFER: _ClassVar[RecordKind]
    RECORD_KIND_DUPLICATE: _ClassVar[RecordKind]
    RECORD_KIND_UNIDENTIFIED: _ClassVar[RecordKind]

class HoldDecision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HOLD_DECISION_UNSPECIFIED: _ClassVar[HoldDecision]
    HOLD_DECISION_CONFIRM: _ClassVar[HoldDecision]
    HOLD_DECISION_REJECT: _ClassVar[HoldDecision]
    HOLD_DECISION_ALLOW_REMOVALS: _ClassVar[HoldDecision]
    HOLD_DECISION_ALLOW_CHANGES: _ClassVar[HoldDecision]
RECORD_KIND_UNSPECIFIED: RecordKind
RECORD_KIND_OFFER: RecordKind
RECORD_KIND_DUPLICATE: RecordKind
RECORD_KIND_UNIDENTIFIED: RecordKind
HOLD_DECISION_UNSPECIFIED: HoldDecision
HOLD_DECISION_CONFIRM: HoldDecision
HOLD_DECISION_REJECT: HoldDecision
HOLD_DECISION_ALLOW_REMOVALS: HoldDecision
HOLD_DECISION_ALLOW_CHANGES: HoldDecision

class OfferRecord(_message.Message):
    __slots__ = ("kind", "external_id", "ordinal", "line", "content", "content_hash", "errors", "keep_existing", "named_fields")
    KIND_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    ORDINAL_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    KEEP_EXISTING_FIELD_NUMBER: _ClassVar[int]
    NAMED_FIELDS_FIELD_NUMBER: _ClassVar[int]
    kind: RecordKind
    external_id: str
    ordinal: int
    line: int
    content: _offer_pb2.OfferContent
    content_hash: bytes
    errors: _containers.RepeatedCompositeFieldContainer[_load_pb2.OfferError]
    keep_existing: bool
    named_fields: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, kind: _Optional[_Union[RecordKind, str]] = ..., external_id: _Optional[str] = ..., ordinal: _Optional[int] = ..., line: _Optional[int] = ..., content: _Optional[_Union[_offer_pb2.OfferContent, _Mapping]] = ..., content_hash: _Optional[bytes] = ..., errors: _Optional[_Iterable[_Union[_load_pb2.OfferError, _Mapping]]] = ..., keep_existing: _Optional[bool] = ..., named_fields: _Optional[_Iterable[str]] = ...) -> None: ...

class OfferBatch(_message.Message):
    __slots__ = ("seller_id", "namespace", "task_id", "run", "batch_id", "mode", "digest", "records")
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    seller_id: str
    namespace: str
    task_id: int
    run: int
    batch_id: int
    mode: _load_pb2.LoadMode
    digest: bytes
    records: _containers.RepeatedCompositeFieldContainer[OfferRecord]
    def __init__(self, seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., task_id: _Optional[int] = ..., run: _Optional[int] = ..., batch_id: _Optional[int] = ..., mode: _Optional[_Union[_load_pb2.LoadMode, str]] = ..., digest: _Optional[bytes] = ..., records: _Optional[_Iterable[_Union[OfferRecord, _Mapping]]] = ...) -> None: ...

class TaskEnd(_message.Message):
    __slots__ = ("seller_id", "namespace", "task_id", "run", "batch_count", "digest", "mode", "disposition", "decision")
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    BATCH_COUNT_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DISPOSITION_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    seller_id: str
    namespace: str
    task_id: int
    run: int
    batch_count: int
    digest: bytes
    mode: _load_pb2.LoadMode
    disposition: _load_pb2.Disposition
    decision: HoldDecision
    def __init__(self, seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., task_id: _Optional[int] = ..., run: _Optional[int] = ..., batch_count: _Optional[int] = ..., digest: _Optional[bytes] = ..., mode: _Optional[_Union[_load_pb2.LoadMode, str]] = ..., disposition: _Optional[_Union[_load_pb2.Disposition, str]] = ..., decision: _Optional[_Union[HoldDecision, str]] = ...) -> None: ...

class RunCheck(_message.Message):
    __slots__ = ("seller_id", "namespace", "task_id", "run", "last_batch_id")
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    LAST_BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    seller_id: str
    namespace: str
    task_id: int
    run: int
    last_batch_id: int
    def __init__(self, seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., task_id: _Optional[int] = ..., run: _Optional[int] = ..., last_batch_id: _Optional[int] = ...) -> None: ...
