"""Offers: the service that owns every offer of every seller.

It applies the batches of each load in order and exactly once, and replies to each batch. It writes an offer only if
the offer changed, and publishes changed offers to the index. When a complete load ends, it removes the offers that the
load lacks, or keeps them by hand. A load that failed, arrived in part or arrived out of order removes nothing
(ADR 0008, ADR 0009).
"""
