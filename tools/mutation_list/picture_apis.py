"""HTTP API of pictures, and promises to the operator about comparisons and damaged files."""

from __future__ import annotations

from typing import Final

from tools.mutation_list.mutation import Mutation
from tools.mutation_list.paths import COMMON, PICTURES, PICTURES_TESTS

_MECHANISM: Final = "Pictures over HTTP"
_CALLERS: Final = (
    f"{PICTURES_TESTS}/integration/http/test_http_callers.py"
    "::test_callers_need_tokens_where_the_setting_says_so_and_pictures_are_open"
)
_REFUSALS: Final = f"{PICTURES_TESTS}/integration/http/test_http_refusals.py"
_COMPARING: Final = f"{PICTURES_TESTS}/integration/states/test_comparing.py"
_FLOW: Final = f"{PICTURES_TESTS}/integration/test_flow.py"
_ROUTES: Final = f"{PICTURES}/http/routes.py"
_COMPARE: Final = f"{PICTURES}/app/states/compare_pictures.py"

MUTATIONS: Final = (
    Mutation(
        "picture-tokens-never-required",
        _MECHANISM,
        "Callers without a token can put pictures although CLASSIFEED_HTTP_AUTH is on.",
        f"{PICTURES}/parts/serving.py",
        before='if settings.http_auth == "on" else "")',
        after='if settings.http_auth == "never" else "")',
        tests=(f"{_CALLERS}[on]",),
    ),
    Mutation(
        "picture-tokens-always-required",
        _MECHANISM,
        "Tokens are required on the loopback although CLASSIFEED_HTTP_AUTH is off.",
        f"{PICTURES}/parts/serving.py",
        before='if settings.http_auth == "on" else "")',
        after='if settings.http_auth else "")',
        tests=(f"{_CALLERS}[off]",),
    ),
    Mutation(
        "picture-put-by-readers",
        _MECHANISM,
        "A service with permission to read states can put pictures.",
        _ROUTES,
        before='guarded("PutPicture", puts.market)',
        after='guarded("GetState", puts.market)',
        tests=(f"{_CALLERS}[on]",),
    ),
    Mutation(
        "stored-picture-needs-a-token",
        _MECHANISM,
        "Browsers cannot load pictures where callers need tokens.",
        _ROUTES,
        before='{size:name}", pictures.get, methods',
        after='{size:name}", guarded("GetState", pictures.get), methods',
        tests=(f"{_CALLERS}[on]",),
    ),
    Mutation(
        "weights-of-formats-ignored",
        _MECHANISM,
        "A client that prefers WebP gets AVIF.",
        f"{PICTURES}/http/negotiation.py",
        before="(weights[MEDIA_TYPES[each]], -_PREFERRED",
        after="(-_PREFERRED",
        tests=(f"{_REFUSALS}::test_who_takes_avif_gets_it",),
    ),
    Mutation(
        "format-of-weight-zero-taken",
        _MECHANISM,
        "A client that refuses AVIF gets it.",
        f"{PICTURES}/http/negotiation.py",
        before="if weights.get(MEDIA_TYPES[format_], 0.0) > 0]",
        after="if MEDIA_TYPES[format_] in weights]",
        tests=(f"{_REFUSALS}::test_who_takes_avif_gets_it",),
    ),
    Mutation(
        "formats-mixed-in-caches",
        _MECHANISM,
        "A shared cache serves the format of one client to another.",
        f"{PICTURES}/http/pictures.py",
        before='{"Vary": "Accept"}',
        after="{}",
        tests=(f"{_REFUSALS}::test_who_takes_avif_gets_it",),
    ),
    Mutation(
        "picture-error-cached",
        _MECHANISM,
        "A cache stores an error instead of a picture.",
        f"{PICTURES}/http/pictures.py",
        before='            response.headers["Cache-Control"] = _NOT_KEPT\n',
        after="",
        tests=(f"{_REFUSALS}::test_no_error_is_kept_by_a_cache",),
    ),
    Mutation(
        "picture-put-above-the-quota",
        _MECHANISM,
        "A namespace accepts pictures above its quota.",
        f"{PICTURES}/app/files/store_picture.py",
        before="if used_bytes + added_bytes > namespace.quota_bytes:",
        after="if used_bytes < 0:",
        tests=(f"{_REFUSALS}::test_more_than_the_quota_is_refused_with_what_to_do",),
    ),
    Mutation(
        "stored-picture-counted-twice",
        _MECHANISM,
        "A full namespace refuses a picture that it already stores.",
        f"{PICTURES}/app/files/store_picture.py",
        before="(known.total_bytes if known is not None and is_counted else 0)",
        after="0",
        tests=(f"{_REFUSALS}::test_more_than_the_quota_is_refused_with_what_to_do",),
    ),
    Mutation(
        "not-a-picture-without-its-status",
        _MECHANISM,
        "A put of a page or an archive is refused like any invalid request.",
        _ROUTES,
        before="status=_STATUSES.get(error.reason)",
        after="status=None",
        tests=(
            f"{_REFUSALS}::test_hostile_bytes_are_refused_with_status_and_words_and_the_service_goes_on",
            f"{_REFUSALS}::test_a_compressed_body_is_refused_whatever_its_header_says",
        ),
    ),
    Mutation(
        "cut-compressed-picture-taken",
        _MECHANISM,
        "A truncated compressed response counts as complete.",
        f"{COMMON}/fetch/exchanging/storing.py",
        before="if not self._decoder.is_whole():",
        after="if self._file is None:",
        tests=(f"{_FLOW}::test_a_picture_that_comes_compressed_is_taken_whole_or_not_at_all",),
    ),
    Mutation(
        "mass-deletion-not-held",
        _MECHANISM,
        "A comparison marks more pictures than the allowed share without a confirmation.",
        _COMPARE,
        before="if comparison.unused > most:",
        after="if comparison.unused < 0:",
        tests=(f"{_COMPARING}::test_too_much_is_held_until_somebody_says_yes",),
    ),
    Mutation(
        "pictures-marked-before-they-are-counted",
        _MECHANISM,
        "A comparison sends notices before its count is complete and can hold it.",
        _COMPARE,
        before="compared=compared, unused=len(unused))\n            else:\n",
        after="compared=compared, unused=len(unused))\n            if True:\n",
        tests=(f"{_COMPARING}::test_too_much_is_held_until_somebody_says_yes",),
    ),
    Mutation(
        "missing-file-not-found",
        _MECHANISM,
        "A file that the object store lost is not downloaded again.",
        f"{COMMON}/blobs/damage.py",
        before='return "missing"',
        after="return None",
        tests=(f"{_FLOW}::test_files_that_are_flipped_cut_or_missing_are_found_and_downloaded_again",),
    ),
    Mutation(
        "changed-file-not-found",
        _MECHANISM,
        "A changed or truncated file is not downloaded again.",
        f"{COMMON}/blobs/damage.py",
        before='return "corrupt"',
        after="return None",
        tests=(f"{_FLOW}::test_files_that_are_flipped_cut_or_missing_are_found_and_downloaded_again",),
    ),
    Mutation(
        "copy-reads-its-source",
        _MECHANISM,
        "A copy between namespaces reads the bytes of its source.",
        f"{PICTURES}/app/files/copy_picture.py",
        before="if missing_versions(namespace, source.pieces):",
        after="if source.pieces:",
        tests=(f"{_FLOW}::test_a_copy_puts_nothing_into_the_object_store",),
    ),
)
