"""The loader: fetches feeds by their links, on their schedules, and has their files loaded.

It owns the sources of every seller and namespace, their schedules and the history of their fetches. It promises that
each due feed is fetched once, the oldest first, by however many processes; that one that fails again and again keeps no
other waiting; and that no fetch is lost or loaded twice, whenever a process dies.
"""
