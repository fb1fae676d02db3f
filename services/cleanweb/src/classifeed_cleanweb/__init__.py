"""Cleanweb: the verdict service of the suite, with automatic rules and reviews by people.

It owns reviews, opinions of reviewers, and callbacks. When all reviews of a text have ended, it delivers their verdicts
to the requester, and retries for 72 hours. A callback that was given up is kept for an operator.
"""
