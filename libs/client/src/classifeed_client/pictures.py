"""Calls for pictures, for operators: states of URLs, requests, uploads, namespaces, comparisons and backups."""

# Written from aio/pictures.py by `make stubs`: change it there.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from classifeed.offers.v1 import offer_service_pb2
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceStub
from classifeed.pictures.v1 import picture_pb2, picture_service_pb2
from classifeed.pictures.v1.picture_service_pb2_grpc import PictureServiceStub
from classifeed_client.connection import Caller
from classifeed_client.requests import next_page, open_content, picture_pieces_of

PICTURE_SERVICES: Final = ("pictures", "offers")
"""Services that these calls use."""
_PUT_S: Final = 60.0


class PictureClient(Caller):
    """Client of the pictures service. The arguments are those of Caller, with the addresses of PICTURE_SERVICES."""

    def _open_stubs(self) -> None:
        self._pictures = self._stub("pictures", PictureServiceStub)
        self._offers = self._stub("offers", OfferServiceStub)

    def get_state(self, url: str) -> picture_pb2.PictureState:
        """Return the state of a URL or key.

        Raises:
            Refused: PICTURE_UNKNOWN, the URL or key is unknown.
        """
        request = picture_service_pb2.GetStateRequest(url=url)
        return self._call(self._pictures.GetState, request, picture_pb2.PictureState)

    def get_states(self, urls: Sequence[str]) -> list[picture_pb2.PictureState]:
        """Return the states of 1 to 1000 URLs or keys, in order. `known` is unset for unknown ones."""
        request = picture_service_pb2.BatchGetStatesRequest(urls=urls)
        batch = self._call(self._pictures.BatchGetStates, request, picture_pb2.PictureStateBatch)
        return list(batch.states)

    def list_similar(self, request: picture_service_pb2.ListSimilarRequest) -> picture_service_pb2.ListSimilarResponse:
        """Return a page of stored pictures that are similar to the picture of a URL, the most similar first.

        Raises:
            Refused: PICTURE_UNKNOWN, NO_PICTURE_TO_COMPARE or PICTURE_TOO_PLAIN.
        """
        return self._call(self._pictures.ListSimilar, request, picture_service_pb2.ListSimilarResponse)

    def iter_similar(
        self, request: picture_service_pb2.ListSimilarRequest
    ) -> Iterator[picture_service_pb2.SimilarPicture]:
        """Yield similar pictures over all pages; the request's page token is ignored."""
        return self._items(
            lambda token: self.list_similar(next_page(request, token)), "pictures", picture_service_pb2.SimilarPicture
        )

    def request(self, urls: Sequence[str], namespace: str) -> None:
        """Request the pictures of 1 to 1000 URLs for a namespace. Their states show the outcome."""
        request = picture_service_pb2.RequestPicturesRequest(urls=urls, namespace=namespace)
        self._call(self._pictures.RequestPictures, request, picture_service_pb2.RequestPicturesResponse)

    def request_again(self, parent: str = "", request_id: str = "") -> str:
        """Make offers request all its pictures again, or those of a seller or a namespace; return the id of the job.

        The id is empty if offers requests no pictures. A repeated request id starts no second job.
        """
        request = offer_service_pb2.RequestPicturesRequest(parent=parent, request_id=request_id)
        response = self._call(self._offers.RequestPictures, request, offer_service_pb2.RequestPicturesResponse)
        return response.job_id

    def look_again(self, urls: Sequence[str]) -> None:
        """Retry the failed pictures of 1 to 1000 URLs, even if their retry is not due."""
        request = picture_service_pb2.LookAgainRequest(urls=urls)
        self._call(self._pictures.LookAgain, request, picture_service_pb2.LookAgainResponse)

    def put(
        self, key: str, picture: bytes | Path, namespace: str, *, timeout_s: float = _PUT_S
    ) -> picture_pb2.PictureInfo:
        """Store a picture under a key, its URL or any name, and return its description.

        Args:
            key: Key of the picture. The same bytes again change nothing; other bytes replace the picture.
            picture: Bytes of the picture, or the path of a file. They are sent in pieces of 1 MiB.
            namespace: Namespace that keeps the picture.
            timeout_s: Timeout of the call, in seconds.

        Raises:
            OSError: The file cannot be read.
            ApiError: The call did not succeed; the reason says what is wrong with the picture.
        """
        with open_content(picture) as source:
            pieces = picture_pieces_of(key, namespace, source)
            return self._call(self._pictures.PutPicture, pieces, picture_pb2.PictureInfo, timeout_s)

    def delete(self, urls: Sequence[str], namespace: str = "") -> None:
        """Delete the pictures of 1 to 1000 URLs or keys, from a namespace or, if it is empty, from all namespaces."""
        request = picture_service_pb2.DeletePicturesRequest(urls=urls, namespace=namespace)
        self._call(self._pictures.DeletePictures, request, picture_service_pb2.DeletePicturesResponse)

    def put_namespace(self, namespace: picture_service_pb2.PictureNamespace) -> picture_service_pb2.PictureNamespace:
        """Create a namespace, or change its sizes, formats and quota; return it with its usage."""
        request = picture_service_pb2.PutNamespaceRequest(namespace=namespace)
        return self._call(self._pictures.PutNamespace, request, picture_service_pb2.PictureNamespace)

    def list_namespaces(self) -> list[picture_service_pb2.PictureNamespace]:
        """Return the namespaces by name, with their usage."""
        request = picture_service_pb2.ListNamespacesRequest()
        response = self._call(self._pictures.ListNamespaces, request, picture_service_pb2.ListNamespacesResponse)
        return list(response.namespaces)

    def list_comparisons(self) -> list[picture_service_pb2.Comparison]:
        """Return the latest 20 comparisons of stored pictures with those that offers use, the newest first."""
        request = picture_service_pb2.ListComparisonsRequest()
        wanted = picture_service_pb2.ListComparisonsResponse
        return list((self._call(self._pictures.ListComparisons, request, wanted)).comparisons)

    def confirm_comparison(self, comparison_id: int) -> picture_service_pb2.Comparison:
        """Let a held comparison mark or delete the unused pictures that it found, and return it. Idempotent.

        Raises:
            Refused: COMPARISON_UNKNOWN or COMPARISON_NOT_HELD.
        """
        request = picture_service_pb2.ConfirmComparisonRequest(comparison_id=comparison_id)
        return self._call(self._pictures.ConfirmComparison, request, picture_service_pb2.Comparison)

    def list_backups(self) -> list[picture_service_pb2.Backup]:
        """Return the complete backups of the service's state, the newest first."""
        request = picture_service_pb2.ListBackupsRequest()
        wanted = picture_service_pb2.ListBackupsResponse
        return list((self._call(self._pictures.ListBackups, request, wanted)).backups)

    def restore_backup(self, name: str = "") -> picture_service_pb2.RestoreBackupResponse:
        """Start a job that restores a backup, by default the newest, and return the job and the backup.

        Raises:
            Refused: BACKUP_UNKNOWN.
        """
        request = picture_service_pb2.RestoreBackupRequest(name=name)
        return self._call(self._pictures.RestoreBackup, request, picture_service_pb2.RestoreBackupResponse)
