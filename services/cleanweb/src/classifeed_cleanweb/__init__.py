"""The verdict service of the suite: automatic rules, and reviews by people.

It owns reviews, opinions of reviewers, and callbacks. The verdicts about a text that it took for review are delivered
once all of its reviews have ended, however often it takes, for 72 hours; what was given up is kept for an operator.
"""
