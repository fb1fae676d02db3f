from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from classifeed_common.lease.keeper import fair_share


@given(names=st.integers(0, 500), members=st.sets(st.text(min_size=1, max_size=5), min_size=1, max_size=20))
def test_shares_add_up_and_differ_by_one_at_most(names: int, members: set[str]) -> None:
    shares = [fair_share(names, list(members), member) for member in members]
    assert sum(shares) == names
    assert max(shares) - min(shares) <= 1


def test_who_is_not_seen_alive_gets_nothing() -> None:
    assert fair_share(64, ["ann"], "bob") == 0
    assert fair_share(64, [], "bob") == 0
