"""Moderation: sends texts to a verdict service, and decides by its own rules on the verdicts.

It owns the moderation of every user text: points, their comments, and the texts of offers. A text that is not approved
is neither served nor exported. Every text is decided or requested again within a bound, even if processes are killed.
"""
