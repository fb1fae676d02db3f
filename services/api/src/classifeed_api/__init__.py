"""The API of sellers.

Owns the uploads and the feeds by link. A file that UploadFeed has acknowledged lies in the object store under its hash,
and a task will load it; a feed that was changed is sent to the loader; the offers of a feed that was deleted get a task
that takes them away, in the order in which all this was acknowledged, whatever dies in between. Everything about tasks
it calls the processor, and everything about fetches the loader.
"""
