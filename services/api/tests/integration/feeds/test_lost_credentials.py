"""Feeds whose credential key is lost are named with the fix until it is done."""

from __future__ import annotations

from classifeed_api.app.feeds.check_credentials import check_credentials
from classifeed_common.auth.encryption import CredentialCipher
from classifeed_common.db import Database


async def test_feeds_whose_credentials_no_key_decrypts_are_named(db: Database) -> None:
    lost, present, new = (CredentialCipher([bytes([number]) * 32]) for number in range(3))
    feeds = {f"lost{number}": lost for number in range(7)} | {"read": present}
    async with db.transaction() as tx:
        for namespace, cipher in [*feeds.items(), ("open", None), ("removed", lost)]:
            context = f"shop/{namespace}"
            sealed = cipher.encrypt(b"secret", context) if cipher is not None else b""
            await tx.execute(
                "INSERT INTO feed (seller_id, namespace, version, published_version, status, settings,"
                " sealed_credentials, created_at, updated_at) VALUES ('shop', %s, 1, 0, %s, '', %s, now(), now())",
                (namespace, 3 if namespace == "removed" else 1, sealed),
            )
    found = await check_credentials(db, CredentialCipher([bytes([2]) * 32, bytes([1]) * 32]))
    assert found["credentials"].startswith("The key that encrypted the credentials of sellers/shop/feeds/lost0, ")
    assert "lost4 and 2 more is not" in found["credentials"]
    assert "removed" not in found["credentials"]
    assert await check_credentials(db, CredentialCipher([bytes([number]) * 32 for number in range(3)])) == {}
    assert (
        "shop/feeds/read"
        in (await check_credentials(db, CredentialCipher([bytes([2]) * 32, bytes(32)])))["credentials"]
    )
    assert await check_credentials(db, None) == {}
    assert new.prefixes != lost.prefixes
