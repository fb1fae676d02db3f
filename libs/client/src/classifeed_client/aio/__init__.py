"""The same client for asyncio: calls are coroutines, lists are asynchronous iterators.

`make stubs` generates the synchronous modules from the modules here.
"""

from classifeed_client.aio.client import Client
from classifeed_client.aio.pictures import PictureClient

__all__ = ["Client", "PictureClient"]
