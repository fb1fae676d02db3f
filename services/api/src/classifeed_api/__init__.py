"""The sellers' door.

Owns the uploads: a file that UploadFeed has acknowledged lies in the object store under its hash, and a task will load
it, whatever dies in between. Everything about tasks it asks the processor.
"""
