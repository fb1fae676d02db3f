"""Has texts judged by a verdict service, and acts on the verdicts by its own rules.

It owns the moderation of every text of users: points, their comments, and the texts of offers. A text that is not
approved is neither served nor exported, and every text is decided or requested again within a bound, whatever dies.
"""
