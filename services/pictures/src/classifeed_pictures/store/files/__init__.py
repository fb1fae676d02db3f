"""Tables of stored pictures, their namespaces, and the robots.txt of hosts."""
