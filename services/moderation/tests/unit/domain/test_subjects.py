"""Cache keys: which texts share their verdicts."""

from __future__ import annotations

from classifeed_moderation.domain.subjects import Kind, cache_key, hash_text


def test_texts_of_a_kind_in_the_same_regions_share_verdicts_and_others_do_not() -> None:
    known = cache_key(Kind.POINT, (1, 225), "A crash")
    assert cache_key(Kind.POINT, (1, 225), " a  CRASH\n") == known
    others = (
        cache_key(Kind.COMMENT, (1, 225), "A crash"),
        cache_key(Kind.OFFER, (1, 225), "A crash"),
        cache_key(Kind.POINT, (225,), "A crash"),
        cache_key(Kind.POINT, (225, 1), "A crash"),
        cache_key(Kind.POINT, (1, 225), "A crash!"),
    )
    assert known not in others


def test_a_hash_says_which_text_it_is() -> None:
    """Case and white space count: a verdict applies to exactly the text that was judged."""
    assert len({hash_text(text) for text in ("a", "A", "a ", "")}) == 4
