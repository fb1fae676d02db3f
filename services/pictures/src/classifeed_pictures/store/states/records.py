"""Holdings of a state as stored in the table."""

from __future__ import annotations

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed.pictures.v1.state_record_pb2 import HoldingRecord, HoldingRecords
from classifeed_pictures.domain.lifecycle.states import Holding


def pack_holdings(holdings: dict[str, Holding]) -> bytes:
    """Return holdings as bytes; equal holdings give equal bytes."""
    records = HoldingRecords()
    for namespace, holding in sorted(holdings.items()):
        record = records.holdings.add(
            namespace=namespace,
            first_attempt=holding.first_attempt,
            attempt=holding.attempt,
            copy=holding.is_copy,
            info_attempt=holding.info_attempt,
            failed_attempts=holding.failed_attempts,
        )
        if holding.ordered_at is not None:
            record.order_time.FromDatetime(holding.ordered_at)
        if holding.info is not None:
            record.info.CopyFrom(holding.info)
        if holding.failure is not None:
            record.failure.CopyFrom(holding.failure)
        if holding.retry_at is not None:
            record.retry_time.FromDatetime(holding.retry_at)
    return records.SerializeToString(deterministic=True)


def unpack_holdings(data: bytes) -> dict[str, Holding]:
    """Return the holdings that `pack_holdings` packed."""
    return {record.namespace: _unpack(record) for record in HoldingRecords.FromString(data).holdings}


def unpack_failure(data: bytes | None) -> LoadFailure | None:
    """Return a failure from its stored bytes."""
    return LoadFailure.FromString(data) if data is not None else None


def _unpack(record: HoldingRecord) -> Holding:
    return Holding(
        first_attempt=record.first_attempt,
        attempt=record.attempt,
        ordered_at=_time(record.order_time) if record.HasField("order_time") else None,
        is_copy=record.copy,
        info=record.info if record.HasField("info") else None,
        info_attempt=record.info_attempt,
        failure=record.failure if record.HasField("failure") else None,
        retry_at=_time(record.retry_time) if record.HasField("retry_time") else None,
        failed_attempts=record.failed_attempts,
    )


def _time(timestamp: Timestamp) -> datetime:
    return timestamp.ToDatetime(tzinfo=UTC)
