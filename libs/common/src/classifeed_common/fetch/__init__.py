"""Downloads from addresses that users name: checked, bounded, and described in plain messages.

`fetch.fetcher` downloads; it is imported by name, as a process that only checks addresses has no metrics of downloads.
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
