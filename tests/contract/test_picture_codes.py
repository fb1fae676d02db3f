"""Every failure of the pictures service has a code for sellers."""

from __future__ import annotations

from classifeed_domain.pictures.issues import CODES, FAILED
from classifeed_imaging.faults import CODES as DECODE_CODES
from classifeed_pictures.domain.lifecycle import retries


def test_each_failure_that_pictures_name_by_themselves_has_its_own_words() -> None:
    named = {
        *DECODE_CODES,
        *(code for codes in retries.CODES.values() for code in codes if code.startswith("PICTURE_")),
    }
    # Failures that sellers cannot fix, and failures that a download replaces before they are reported.
    ours = {*retries.OF_THE_NAMESPACE, retries.INTERNAL_ERROR, retries.SOURCE_GONE}
    assert {code for code in named if code not in CODES} == ours
    assert FAILED not in CODES.values()
