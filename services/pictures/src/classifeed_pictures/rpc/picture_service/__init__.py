"""PictureService, one module per family of its methods."""

from __future__ import annotations

from classifeed_pictures.rpc.picture_service.servicer import picture_servicer

__all__ = ["picture_servicer"]
