"""What an offer's way is told by: facts go in, an explanation comes out; no input or output of its own."""
