"""The processor reads a seller's file, checks its offers, sends them to the service offers, and stores the outcomes.

It owns the tasks of every seller and namespace, their statistics and their errors. It promises:
- A file that cannot be read changes no offer.
- The end of a run is sent strictly after all of its batches were acknowledged.
- One invalid offer never hides the others.
"""
