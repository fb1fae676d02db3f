"""Files in an object store under the hash of their bytes, and who needs them."""

from classifeed_common.blobs.refs import BlobRefs
from classifeed_common.blobs.store import BlobCorrupt, BlobMissing, BlobStore
from classifeed_common.blobs.sweeper import BlobSweeper

__all__ = ["BlobCorrupt", "BlobMissing", "BlobRefs", "BlobStore", "BlobSweeper"]
