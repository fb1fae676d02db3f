"""Files in an object store under the hash of their bytes, and the references that keep them."""

from classifeed_common.blobs.damage import DamagedBlob, list_damaged
from classifeed_common.blobs.piece import BlobCorrupt, BlobMissing, BlobPiece
from classifeed_common.blobs.refs import BlobRefs
from classifeed_common.blobs.store import BlobStore
from classifeed_common.blobs.sweeper import BlobSweeper

__all__ = [
    "BlobCorrupt",
    "BlobMissing",
    "BlobPiece",
    "BlobRefs",
    "BlobStore",
    "BlobSweeper",
    "DamagedBlob",
    "list_damaged",
]
