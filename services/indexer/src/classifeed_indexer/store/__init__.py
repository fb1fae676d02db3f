"""All SQL of the indexer: offsets and the leases that guard them."""
