"""Type of a call's context, which no method reads."""

from __future__ import annotations

from typing import Any, TypeAlias

import grpc

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
