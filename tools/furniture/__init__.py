"""What is alike in every service has one name everywhere: `python -m tools.furniture` lists what differs."""
