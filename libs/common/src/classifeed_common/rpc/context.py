"""Type of a call's context in every servicer."""

from __future__ import annotations

from typing import Any, TypeAlias

import grpc.aio

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
