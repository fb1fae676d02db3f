"""Arguments and options that several commands of moderation share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Kind(StrEnum):
    """Kinds of texts, as typed on the command line."""

    POINT = "point"
    COMMENT = "comment"
    OFFER = "offer"

    @property
    def label(self) -> str:
        """Name of the value in the proto's enum SubjectKind."""
        return f"SUBJECT_KIND_{self.name}"


KeyArgument = Annotated[
    str, typer.Argument(help="Key: offer/SELLER/NAMESPACE/ID, the uuid of a point, or UUID/N of its comment.")
]
