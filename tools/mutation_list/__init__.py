"""The mutations, as data for tools/mutations.py: a file for each mechanism, in the order of the page."""

from __future__ import annotations

from typing import Final

from tools.mutation_list import (
    access,
    automatics,
    blobs,
    closings,
    decisions,
    fetching,
    http_apis,
    http_limits,
    indexing,
    issues,
    jobs,
    kafka,
    leases,
    loads,
    offer_pictures,
    offers,
    picture_apis,
    picture_backups,
    picture_files,
    picture_ownership,
    pictures,
    price_guard,
    publish_marks,
    reading,
    removal_guard,
    reviews,
    snapshots,
    starting,
    supervision,
    verdicts,
)
from tools.mutation_list.mutation import Mutation

__all__ = ["MUTATIONS", "Mutation"]

MUTATIONS: Final[tuple[Mutation, ...]] = (
    *leases.MUTATIONS,
    *starting.MUTATIONS,
    *supervision.MUTATIONS,
    *kafka.MUTATIONS,
    *publish_marks.MUTATIONS,
    *jobs.MUTATIONS,
    *loads.MUTATIONS,
    *reading.MUTATIONS,
    *issues.MUTATIONS,
    *offers.MUTATIONS,
    *removal_guard.MUTATIONS,
    *price_guard.MUTATIONS,
    *indexing.MUTATIONS,
    *access.MUTATIONS,
    *http_apis.MUTATIONS,
    *http_limits.MUTATIONS,
    *blobs.MUTATIONS,
    *snapshots.MUTATIONS,
    *fetching.MUTATIONS,
    *automatics.MUTATIONS,
    *verdicts.MUTATIONS,
    *decisions.MUTATIONS,
    *reviews.MUTATIONS,
    *closings.MUTATIONS,
    *pictures.MUTATIONS,
    *picture_apis.MUTATIONS,
    *picture_backups.MUTATIONS,
    *picture_files.MUTATIONS,
    *picture_ownership.MUTATIONS,
    *offer_pictures.MUTATIONS,
)
