"""ModerationService: one file for each group of its methods."""

from classifeed_moderation.rpc.moderation_service.servicer import moderation_servicer

__all__ = ["moderation_servicer"]
