"""Names of the protocol between the verdict service and its clients."""

from __future__ import annotations

from typing import Final

END: Final = "clean_web_moderation_end"
SERVICE_TOKEN_HEADER: Final = "X-Ya-Service-Ticket"  # noqa: S105 - the name of a header
