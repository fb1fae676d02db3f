import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JobStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_STATUS_UNSPECIFIED: _ClassVar[JobStatus]
    JOB_STATUS_QUEUED: _ClassVar[JobStatus]
    JOB_STATUS_RUNNING: _ClassVar[JobStatus]
    JOB_STATUS_SUCCEEDED: _ClassVar[JobStatus]
    JOB_STATUS_FAILED: _ClassVar[JobStatus]
    JOB_STATUS_CANCELED: _ClassVar[JobStatus]
JOB_STATUS_UNSPECIFIED: JobStatus
JOB_STATUS_QUEUED: JobStatus
JOB_STATUS_RUNNING: JobStatus
JOB_STATUS_SUCCEEDED: JobStatus
JOB_STATUS_FAILED: JobStatus
JOB_STATUS_CANCELED: JobStatus

class JobProgress(_message.Message):
    __slots__ = ("processed", "total", "details")
    PROCESSED_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    processed: int
    total: int
    details: _struct_pb2.Struct
    def __init__(self, processed: _Optional[int] = ..., total: _Optional[int] = ..., details: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("job_id", "queue", "task", "args", "status", "attempt", "claim_no", "max_attempts", "idempotency_key", "lock_key", "partition_key", "priority", "lease_ttl_sec", "cancel_requested", "progress", "error", "result", "producer", "consumer_group", "worker_id", "create_time", "available_time", "start_time", "heartbeat_time", "end_time", "reason", "worker_deaths", "unknown_faults")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    CLAIM_NO_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    LOCK_KEY_FIELD_NUMBER: _ClassVar[int]
    PARTITION_KEY_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    LEASE_TTL_SEC_FIELD_NUMBER: _ClassVar[int]
    CANCEL_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_FIELD_NUMBER: _ClassVar[int]
    CONSUMER_GROUP_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_TIME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    WORKER_DEATHS_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FAULTS_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    queue: str
    task: str
    args: _struct_pb2.Struct
    status: JobStatus
    attempt: int
    claim_no: int
    max_attempts: int
    idempotency_key: str
    lock_key: str
    partition_key: str
    priority: int
    lease_ttl_sec: int
    cancel_requested: bool
    progress: JobProgress
    error: str
    result: _struct_pb2.Value
    producer: str
    consumer_group: str
    worker_id: str
    create_time: _timestamp_pb2.Timestamp
    available_time: _timestamp_pb2.Timestamp
    start_time: _timestamp_pb2.Timestamp
    heartbeat_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    reason: str
    worker_deaths: int
    unknown_faults: int
    def __init__(self, job_id: _Optional[str] = ..., queue: _Optional[str] = ..., task: _Optional[str] = ..., args: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., status: _Optional[_Union[JobStatus, str]] = ..., attempt: _Optional[int] = ..., claim_no: _Optional[int] = ..., max_attempts: _Optional[int] = ..., idempotency_key: _Optional[str] = ..., lock_key: _Optional[str] = ..., partition_key: _Optional[str] = ..., priority: _Optional[int] = ..., lease_ttl_sec: _Optional[int] = ..., cancel_requested: _Optional[bool] = ..., progress: _Optional[_Union[JobProgress, _Mapping]] = ..., error: _Optional[str] = ..., result: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., producer: _Optional[str] = ..., consumer_group: _Optional[str] = ..., worker_id: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., available_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., heartbeat_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., worker_deaths: _Optional[int] = ..., unknown_faults: _Optional[int] = ...) -> None: ...

class JobEvent(_message.Message):
    __slots__ = ("job_id", "event_id", "kind", "time", "attempt", "claim_no", "worker_id", "payload")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    CLAIM_NO_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    event_id: int
    kind: str
    time: _timestamp_pb2.Timestamp
    attempt: int
    claim_no: int
    worker_id: str
    payload: _struct_pb2.Struct
    def __init__(self, job_id: _Optional[str] = ..., event_id: _Optional[int] = ..., kind: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., attempt: _Optional[int] = ..., claim_no: _Optional[int] = ..., worker_id: _Optional[str] = ..., payload: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class Queue(_message.Message):
    __slots__ = ("queue", "paused", "ready", "delayed", "parked", "running", "oldest_age_s", "ended_last_minute", "failed_last_hour", "concurrency_limit", "partition_limit", "rate_limit", "workers", "rate_burst")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    PARKED_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    OLDEST_AGE_S_FIELD_NUMBER: _ClassVar[int]
    ENDED_LAST_MINUTE_FIELD_NUMBER: _ClassVar[int]
    FAILED_LAST_HOUR_FIELD_NUMBER: _ClassVar[int]
    CONCURRENCY_LIMIT_FIELD_NUMBER: _ClassVar[int]
    PARTITION_LIMIT_FIELD_NUMBER: _ClassVar[int]
    RATE_LIMIT_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    RATE_BURST_FIELD_NUMBER: _ClassVar[int]
    queue: str
    paused: bool
    ready: int
    delayed: int
    parked: int
    running: int
    oldest_age_s: float
    ended_last_minute: int
    failed_last_hour: int
    concurrency_limit: int
    partition_limit: int
    rate_limit: float
    workers: int
    rate_burst: int
    def __init__(self, queue: _Optional[str] = ..., paused: _Optional[bool] = ..., ready: _Optional[int] = ..., delayed: _Optional[int] = ..., parked: _Optional[int] = ..., running: _Optional[int] = ..., oldest_age_s: _Optional[float] = ..., ended_last_minute: _Optional[int] = ..., failed_last_hour: _Optional[int] = ..., concurrency_limit: _Optional[int] = ..., partition_limit: _Optional[int] = ..., rate_limit: _Optional[float] = ..., workers: _Optional[int] = ..., rate_burst: _Optional[int] = ...) -> None: ...

class Worker(_message.Message):
    __slots__ = ("worker_id", "queues", "start_time", "renew_time", "running")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    RENEW_TIME_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    queues: _containers.RepeatedScalarFieldContainer[str]
    start_time: _timestamp_pb2.Timestamp
    renew_time: _timestamp_pb2.Timestamp
    running: int
    def __init__(self, worker_id: _Optional[str] = ..., queues: _Optional[_Iterable[str]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., renew_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., running: _Optional[int] = ...) -> None: ...

class Lock(_message.Message):
    __slots__ = ("lock_key", "job_id", "worker_id", "acquire_time", "waiting")
    LOCK_KEY_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    ACQUIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    lock_key: str
    job_id: str
    worker_id: str
    acquire_time: _timestamp_pb2.Timestamp
    waiting: int
    def __init__(self, lock_key: _Optional[str] = ..., job_id: _Optional[str] = ..., worker_id: _Optional[str] = ..., acquire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., waiting: _Optional[int] = ...) -> None: ...
