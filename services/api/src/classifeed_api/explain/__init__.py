"""What explains an offer's way: facts go in, an explanation comes out; no input or output of its own."""
