"""Downloads from users' URLs: checked, bounded, and with plain error messages.

`fetch.fetcher` downloads. Import it by its module name: a process that only checks URLs must not register its metrics.
"""

from classifeed_common.fetch.addresses.guard import AddressGuard
from classifeed_common.fetch.addresses.urls import check_url
from classifeed_common.fetch.exchanging.headers import check_secrets
from classifeed_common.fetch.failed import FetchFailed
from classifeed_common.fetch.faults import FETCH_FAULTS, FetchFault
from classifeed_common.fetch.models import Fetched, FetchLimits, FetchRequest, KeepAlive, NotModified
from classifeed_common.fetch.permits import HostPaused

__all__ = [
    "FETCH_FAULTS",
    "AddressGuard",
    "FetchFailed",
    "FetchFault",
    "FetchLimits",
    "FetchRequest",
    "Fetched",
    "HostPaused",
    "KeepAlive",
    "NotModified",
    "check_secrets",
    "check_url",
]
