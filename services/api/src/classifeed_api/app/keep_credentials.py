"""Keeps credentials of feeds: sealed for the loader, and compared without ever being answered."""

from __future__ import annotations

from classifeed.feeds.v1.feed_pb2 import FeedCredentials
from classifeed_api.domain.credentials import is_empty
from classifeed_api.domain.feeds import NO_CREDENTIALS
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_common.auth.encryption import CredentialCipher, DecryptionError
from classifeed_common.errors import FailedPrecondition


class KeepCredentials:
    """Seals credentials for their namespace.

    Args:
        sealer: has the keys that the loader has, too; None: no credentials are taken.
    """

    def __init__(self, sealer: CredentialCipher | None) -> None:
        self._sealer = sealer

    def seal(self, key: NamespaceKey, wanted: FeedCredentials, *, kept: bytes = NO_CREDENTIALS) -> bytes:
        """Return the wanted credentials sealed; `kept` itself where those are the same, so that nothing changes.

        Raises:
            FailedPrecondition: there is no key to seal them with.
        """
        if is_empty(wanted):
            return NO_CREDENTIALS
        if self._sealer is None:
            raise FailedPrecondition(
                "CREDENTIALS_NOT_SUPPORTED",
                "This installation has no key to keep credentials with, so nothing was changed. Leave them out, or ask "
                "its operator to set CLASSIFEED_API_SECRETS_FILE.",
            )
        context = f"{key.seller_id}/{key.namespace}"
        plain = wanted.SerializeToString(deterministic=True)
        if kept != NO_CREDENTIALS and _opened(self._sealer, kept, context) == plain:
            return kept
        return self._sealer.encrypt(plain, context)


def _opened(sealer: CredentialCipher, sealed: bytes, context: str) -> bytes | None:
    try:
        return sealer.decrypt(sealed, context)
    except DecryptionError:
        return None
