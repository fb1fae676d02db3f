"""Events of pictures: reading and applying them, and sending the messages that follow."""
