"""States of pictures and the events that change them: plain data and pure functions, no I/O."""
