"""FeedService, the API for sellers: one module per family of methods, joined in bootstrap.

The api keeps uploads and feeds; tasks and formats come from the processor, fetches from the loader.
"""
