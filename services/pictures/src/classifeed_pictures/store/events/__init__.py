"""Tables of event files, gaps in the events, and rules of keys."""
