"""The type of the context of a call; no method reads it."""

from __future__ import annotations

from typing import Any, TypeAlias

import grpc

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
