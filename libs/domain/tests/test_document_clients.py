"""Permissions to write a client's documents, for callers that service tests do not cover."""

from __future__ import annotations

import pytest

from classifeed_common.errors import PermissionDenied
from classifeed_domain.document_clients import check_reader, check_writer


def test_a_team_may_what_the_operator_made_its_token_for() -> None:
    check_writer("team:search", "offers")


@pytest.mark.parametrize("caller", ["indexer", "teams", "", "operators", "offers2"])
def test_who_is_not_in_the_table_writes_nothing(caller: str) -> None:
    with pytest.raises(PermissionDenied, match="Its own clients: none"):
        check_writer(caller, "offers")
    check_reader(caller, "offers")
