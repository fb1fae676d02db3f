"""Orders as arguments of jobs."""

from __future__ import annotations

from base64 import b64decode, b64encode

from google.protobuf.message import Message
from pydantic import BaseModel


class OrderArgs(BaseModel):
    """An order, as its message in base64."""

    order: str

    @classmethod
    def of(cls, order: Message) -> OrderArgs:
        """Return an order as arguments."""
        return cls(order=b64encode(order.SerializeToString()).decode())

    @property
    def message(self) -> bytes:
        """Return the message."""
        return b64decode(self.order)
