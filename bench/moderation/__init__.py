"""Quality and speed of cleanweb's automatic rules, and speed of moderation."""
