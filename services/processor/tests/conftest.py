"""Fixtures that write and read feeds are those of the library."""

from __future__ import annotations

from libs.feeds.tests.conftest import Load, Scan, WriteOffer, WriteYml, load, offer, scan, shared_feeds, yml

__all__ = ["Load", "Scan", "WriteOffer", "WriteYml", "load", "offer", "scan", "shared_feeds", "yml"]
