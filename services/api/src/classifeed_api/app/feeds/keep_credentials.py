"""Encrypts credentials of feeds for the loader. They are compared, and never returned."""

from __future__ import annotations

from classifeed.feeds.v1.feed_pb2 import FeedCredentials
from classifeed_api.domain.credentials import is_empty
from classifeed_api.domain.feeds import NO_CREDENTIALS
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_common.auth.encryption import CredentialCipher, DecryptionError
from classifeed_common.errors import FailedPrecondition


class KeepCredentials:
    """Encrypts credentials for their namespace.

    Args:
        cipher: cipher with the keys that the loader has, too; None: credentials are refused.
    """

    def __init__(self, cipher: CredentialCipher | None) -> None:
        self._cipher = cipher

    def __call__(self, key: NamespaceKey, wanted: FeedCredentials, *, kept: bytes = NO_CREDENTIALS) -> bytes:
        """Return the encrypted credentials; `kept` if they are the same, so that nothing changes.

        Raises:
            FailedPrecondition: there is no key to encrypt them with.
        """
        if is_empty(wanted):
            return NO_CREDENTIALS
        if self._cipher is None:
            raise FailedPrecondition(
                "CREDENTIALS_NOT_SUPPORTED",
                "This installation has no key to encrypt credentials with, so nothing was changed. Leave them out, or "
                "ask its operator to set CLASSIFEED_API_SECRETS_FILE.",
            )
        context = f"{key.seller_id}/{key.namespace}"
        plain = wanted.SerializeToString(deterministic=True)
        if kept != NO_CREDENTIALS and _opened(self._cipher, kept, context) == plain:
            return kept
        return self._cipher.encrypt(plain, context)


def _opened(cipher: CredentialCipher, encrypted: bytes, context: str) -> bytes | None:
    try:
        return cipher.decrypt(encrypted, context)
    except DecryptionError:
        return None
