"""Methods for namespaces of stored pictures."""

from __future__ import annotations

from classifeed.pictures.v1.picture_service_pb2 import (
    ListNamespacesRequest,
    ListNamespacesResponse,
    PictureNamespace,
    PutNamespaceRequest,
)
from classifeed.pictures.v1.picture_service_pb2 import SizeRule as SizeRuleMessage
from classifeed_common.db import Database
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_pictures.domain.namespaces import Namespace, SizeRule
from classifeed_pictures.store.files.namespaces import list_namespaces, put_namespace


class NamespaceMethods:
    """Sets and lists namespaces.

    Args:
        database: database with the namespaces.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def PutNamespace(self, request: PutNamespaceRequest, context: Context) -> PictureNamespace:
        """Create or change a namespace."""
        given = request.namespace
        names = [size.name for size in given.sizes]
        if len(set(names)) != len(names) or "orig" in names:
            raise InvalidArgument(
                "REQUEST_INVALID",
                "Each size needs a different name, and none may be orig, which is the original.",
                violations=[FieldViolation("namespace.sizes", "names must differ, and none may be orig")],
            )
        sizes = tuple(SizeRule(size.name, size.width, size.height, size.crop) for size in given.sizes)
        namespace = Namespace(given.name, sizes, tuple(given.formats), given.quota_bytes)
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            await put_namespace(tx, namespace)
            stored = {each.name: (each, pictures, used) for each, pictures, used in await list_namespaces(tx)}
        return _message(*stored[given.name])

    async def ListNamespaces(self, request: ListNamespacesRequest, context: Context) -> ListNamespacesResponse:
        """Return all namespaces."""
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            return ListNamespacesResponse(namespaces=[_message(*each) for each in await list_namespaces(tx)])


def _message(namespace: Namespace, pictures: int, used_bytes: int) -> PictureNamespace:
    return PictureNamespace(
        name=namespace.name,
        sizes=[
            SizeRuleMessage(name=rule.name, width=rule.width, height=rule.height, crop=rule.crop)
            for rule in namespace.sizes
        ],
        formats=namespace.formats,
        quota_bytes=namespace.quota_bytes,
        pictures=pictures,
        used_bytes=used_bytes,
    )
