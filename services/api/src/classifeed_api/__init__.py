"""The public API for sellers.

Owns uploads and feeds by link. A file that UploadFeed has acknowledged is in the object store under its hash, and a
task will load it. A changed feed is sent to the loader. The offers of a deleted feed are removed by a task. The tasks
of a namespace run in the order in which the api acknowledged the requests, even if processes are killed. The api reads
tasks from the processor and fetches from the loader.
"""
