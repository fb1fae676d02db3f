"""The same client for asyncio: each call is awaited, lists are asynchronous iterators.

The modules of the calls are the source of the synchronous ones: `python -m tools.sync_client` writes those.
"""

from classifeed_client.aio.client import Client
from classifeed_client.aio.pictures import PictureClient

__all__ = ["Client", "PictureClient"]
