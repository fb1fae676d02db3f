"""The processor: turns a seller's file into checked offers, sends them to their owner, and keeps what became of each.

It owns the tasks of every seller and namespace, their statistics and their errors. It promises that a file that cannot
be read changes no offer at all, that the end of a run is sent strictly after all of its batches were acknowledged, and
that one bad offer never hides the others.
"""
