"""The parts of a feed file: where its offers stand, their ids and tags."""
