"""When a loop does its work: waits that an event ends, records that gather, rounds that fail, and turns for others."""
