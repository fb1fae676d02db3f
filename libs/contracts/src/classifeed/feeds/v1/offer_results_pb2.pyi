from classifeed.feeds.v1 import load_pb2 as _load_pb2
from classifeed.offers.v1 import offer_pb2 as _offer_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BatchOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BATCH_OUTCOME_UNSPECIFIED: _ClassVar[BatchOutcome]
    BATCH_OUTCOME_APPLIED: _ClassVar[BatchOutcome]
    BATCH_OUTCOME_STALE: _ClassVar[BatchOutcome]
    BATCH_OUTCOME_REFUSED: _ClassVar[BatchOutcome]

class TaskEndOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_END_OUTCOME_UNSPECIFIED: _ClassVar[TaskEndOutcome]
    TASK_END_OUTCOME_COMPLETED: _ClassVar[TaskEndOutcome]
    TASK_END_OUTCOME_INCOMPLETE: _ClassVar[TaskEndOutcome]
    TASK_END_OUTCOME_STALE: _ClassVar[TaskEndOutcome]
    TASK_END_OUTCOME_HELD: _ClassVar[TaskEndOutcome]
BATCH_OUTCOME_UNSPECIFIED: BatchOutcome
BATCH_OUTCOME_APPLIED: BatchOutcome
BATCH_OUTCOME_STALE: BatchOutcome
BATCH_OUTCOME_REFUSED: BatchOutcome
TASK_END_OUTCOME_UNSPECIFIED: TaskEndOutcome
TASK_END_OUTCOME_COMPLETED: TaskEndOutcome
TASK_END_OUTCOME_INCOMPLETE: TaskEndOutcome
TASK_END_OUTCOME_STALE: TaskEndOutcome
TASK_END_OUTCOME_HELD: TaskEndOutcome

class OfferCounts(_message.Message):
    __slots__ = ("added", "updated", "unchanged", "rejected_validation", "rejected_moderation", "skipped", "duplicates", "rejected_existing")
    ADDED_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    REJECTED_VALIDATION_FIELD_NUMBER: _ClassVar[int]
    REJECTED_MODERATION_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    REJECTED_EXISTING_FIELD_NUMBER: _ClassVar[int]
    added: int
    updated: int
    unchanged: int
    rejected_validation: int
    rejected_moderation: int
    skipped: int
    duplicates: int
    rejected_existing: int
    def __init__(self, added: _Optional[int] = ..., updated: _Optional[int] = ..., unchanged: _Optional[int] = ..., rejected_validation: _Optional[int] = ..., rejected_moderation: _Optional[int] = ..., skipped: _Optional[int] = ..., duplicates: _Optional[int] = ..., rejected_existing: _Optional[int] = ...) -> None: ...

class OfferBatchResult(_message.Message):
    __slots__ = ("seller_id", "namespace", "task_id", "run", "batch_id", "outcome", "counts", "errors", "reason")
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    seller_id: str
    namespace: str
    task_id: int
    run: int
    batch_id: int
    outcome: BatchOutcome
    counts: OfferCounts
    errors: _containers.RepeatedCompositeFieldContainer[_load_pb2.OfferError]
    reason: str
    def __init__(self, seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., task_id: _Optional[int] = ..., run: _Optional[int] = ..., batch_id: _Optional[int] = ..., outcome: _Optional[_Union[BatchOutcome, str]] = ..., counts: _Optional[_Union[OfferCounts, _Mapping]] = ..., errors: _Optional[_Iterable[_Union[_load_pb2.OfferError, _Mapping]]] = ..., reason: _Optional[str] = ...) -> None: ...

class TaskEndResult(_message.Message):
    __slots__ = ("seller_id", "namespace", "task_id", "run", "outcome", "removed", "made_manual", "missing_batches", "hold", "kept", "changed", "dropped")
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    MADE_MANUAL_FIELD_NUMBER: _ClassVar[int]
    MISSING_BATCHES_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    seller_id: str
    namespace: str
    task_id: int
    run: int
    outcome: TaskEndOutcome
    removed: int
    made_manual: int
    missing_batches: _containers.RepeatedScalarFieldContainer[int]
    hold: _load_pb2.LoadHold
    kept: int
    changed: int
    dropped: int
    def __init__(self, seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., task_id: _Optional[int] = ..., run: _Optional[int] = ..., outcome: _Optional[_Union[TaskEndOutcome, str]] = ..., removed: _Optional[int] = ..., made_manual: _Optional[int] = ..., missing_batches: _Optional[_Iterable[int]] = ..., hold: _Optional[_Union[_load_pb2.LoadHold, _Mapping]] = ..., kept: _Optional[int] = ..., changed: _Optional[int] = ..., dropped: _Optional[int] = ...) -> None: ...

class RunCheckResult(_message.Message):
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

class LateResult(_message.Message):
    __slots__ = ("seller_id", "namespace", "task_id", "errors")
    SELLER_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    seller_id: str
    namespace: str
    task_id: int
    errors: _containers.RepeatedCompositeFieldContainer[LateError]
    def __init__(self, seller_id: _Optional[str] = ..., namespace: _Optional[str] = ..., task_id: _Optional[int] = ..., errors: _Optional[_Iterable[_Union[LateError, _Mapping]]] = ...) -> None: ...

class LateError(_message.Message):
    __slots__ = ("error", "counted")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    error: _load_pb2.OfferError
    counted: _offer_pb2.OfferChange
    def __init__(self, error: _Optional[_Union[_load_pb2.OfferError, _Mapping]] = ..., counted: _Optional[_Union[_offer_pb2.OfferChange, str]] = ...) -> None: ...
