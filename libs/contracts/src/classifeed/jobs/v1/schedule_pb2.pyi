import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MissedSlots(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MISSED_SLOTS_UNSPECIFIED: _ClassVar[MissedSlots]
    MISSED_SLOTS_SKIP: _ClassVar[MissedSlots]
    MISSED_SLOTS_RUN_ONCE: _ClassVar[MissedSlots]
    MISSED_SLOTS_RUN_ALL: _ClassVar[MissedSlots]

class Overlap(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OVERLAP_UNSPECIFIED: _ClassVar[Overlap]
    OVERLAP_SKIP: _ClassVar[Overlap]
    OVERLAP_QUEUE_ONE: _ClassVar[Overlap]
    OVERLAP_QUEUE_ALL: _ClassVar[Overlap]
    OVERLAP_REPLACE: _ClassVar[Overlap]
MISSED_SLOTS_UNSPECIFIED: MissedSlots
MISSED_SLOTS_SKIP: MissedSlots
MISSED_SLOTS_RUN_ONCE: MissedSlots
MISSED_SLOTS_RUN_ALL: MissedSlots
OVERLAP_UNSPECIFIED: Overlap
OVERLAP_SKIP: Overlap
OVERLAP_QUEUE_ONE: Overlap
OVERLAP_QUEUE_ALL: Overlap
OVERLAP_REPLACE: Overlap

class Schedule(_message.Message):
    __slots__ = ("name", "queue", "task", "args", "lock_key", "partition_key", "priority", "max_attempts", "lease_ttl_sec", "cron", "every_sec", "time_zone", "missed", "grace_sec", "paused", "pause_time", "paused_by", "next_slot_time", "last_slot_time", "last_job_id", "overlap")
    NAME_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    LOCK_KEY_FIELD_NUMBER: _ClassVar[int]
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    LEASE_TTL_SEC_FIELD_NUMBER: _ClassVar[int]
    CRON_FIELD_NUMBER: _ClassVar[int]
    EVERY_SEC_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    GRACE_SEC_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    PAUSE_TIME_FIELD_NUMBER: _ClassVar[int]
    PAUSED_BY_FIELD_NUMBER: _ClassVar[int]
    NEXT_SLOT_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_SLOT_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_JOB_ID_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_FIELD_NUMBER: _ClassVar[int]
    name: str
    queue: str
    task: str
    args: _struct_pb2.Struct
    lock_key: str
    partition_key: str
    priority: int
    max_attempts: int
    lease_ttl_sec: int
    cron: str
    every_sec: int
    time_zone: str
    missed: MissedSlots
    grace_sec: int
    paused: bool
    pause_time: _timestamp_pb2.Timestamp
    paused_by: str
    next_slot_time: _timestamp_pb2.Timestamp
    last_slot_time: _timestamp_pb2.Timestamp
    last_job_id: str
    overlap: Overlap
    def __init__(self, name: _Optional[str] = ..., queue: _Optional[str] = ..., task: _Optional[str] = ..., args: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., lock_key: _Optional[str] = ..., partition_key: _Optional[str] = ..., priority: _Optional[int] = ..., max_attempts: _Optional[int] = ..., lease_ttl_sec: _Optional[int] = ..., cron: _Optional[str] = ..., every_sec: _Optional[int] = ..., time_zone: _Optional[str] = ..., missed: _Optional[_Union[MissedSlots, str]] = ..., grace_sec: _Optional[int] = ..., paused: _Optional[bool] = ..., pause_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., paused_by: _Optional[str] = ..., next_slot_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_slot_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_job_id: _Optional[str] = ..., overlap: _Optional[_Union[Overlap, str]] = ...) -> None: ...
