"""FeedService, what a seller can do: a file for each family of its methods, joined in bootstrap.

Uploads and feeds are kept here; tasks and formats come from the processor, fetches from the loader.
"""
