"""A passing fault is retried while it lasts; an unforeseen one is not."""

from __future__ import annotations

import errno
import zlib

import grpc
import psycopg
import pytest
from psycopg_pool import PoolTimeout

import classifeed_common.db.faults  # noqa: F401 - as in each process that has a database
from classifeed_common.errors import (
    Aborted,
    AlreadyExists,
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from classifeed_common.faults.passing import is_passing


class _CallFailed(grpc.RpcError):
    def __init__(self, code: grpc.StatusCode) -> None:
        self._code = code

    def code(self) -> grpc.StatusCode:
        return self._code


@pytest.mark.parametrize(
    "error",
    [
        *(kind("A", "b") for kind in (Aborted, DeadlineExceeded, PermissionDenied, ResourceExhausted, Unauthenticated)),
        Unavailable("KAFKA_UNAVAILABLE", "away"),
        _CallFailed(grpc.StatusCode.UNAVAILABLE),
        _CallFailed(grpc.StatusCode.DEADLINE_EXCEEDED),
        _CallFailed(grpc.StatusCode.CANCELLED),
        TimeoutError(),
        ConnectionResetError(),
        BrokenPipeError(),
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EMFILE, "Too many open files"),
        OSError(errno.EIO, "Input/output error"),
        PoolTimeout(),
        psycopg.OperationalError("the connection was lost"),
        psycopg.errors.DeadlockDetected(),
        psycopg.errors.AdminShutdown(),
        psycopg.errors.DiskFull(),
    ],
)
def test_what_is_away_or_exhausted_passes(error: Exception) -> None:
    assert is_passing(error)


@pytest.mark.parametrize(
    "error",
    [
        *(kind("A", "b") for kind in (AlreadyExists, FailedPrecondition, Internal, InvalidArgument, NotFound)),
        Unimplemented("A", "b"),
        _CallFailed(grpc.StatusCode.INTERNAL),
        _CallFailed(grpc.StatusCode.INVALID_ARGUMENT),
        grpc.RpcError(),
        FileNotFoundError(errno.ENOENT, "No such file"),
        IsADirectoryError(errno.EISDIR, "Is a directory"),
        OSError("without a number"),
        OverflowError("can't convert negative int to unsigned"),
        zlib.error("Error -3 while decompressing data"),
        MemoryError(),
        RecursionError(),
        KeyError("x"),
        AssertionError(),
        psycopg.errors.UniqueViolation(),
        psycopg.errors.UndefinedColumn(),
    ],
)
def test_what_is_the_same_each_time_does_not(error: Exception) -> None:
    assert not is_passing(error)
