"""From one offer element to the offer that is sent, and the issues found on the way."""
