"""The loader: fetches feeds by their links, on their schedules, and has their files loaded.

It owns the sources of every seller and namespace, their schedules and the history of their fetches. Each due feed is
fetched once, oldest first, by any number of processes. A feed that fails repeatedly does not delay others. No fetch is
lost or loaded twice, even if processes are killed.
"""
