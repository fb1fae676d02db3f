"""Offers: the owner of every offer of every seller.

Takes the batches of the feeds' loads in order, each once, and replies to each; writes an offer only when it changed; at
the end of a complete load removes what the load lacks (or keeps it by hand); publishes what changed to the index. No
load that failed, came in part or out of order removes anything (ADR 0008, ADR 0009).
"""
