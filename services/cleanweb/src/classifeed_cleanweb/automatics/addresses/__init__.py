"""Ways to reach somebody that a text may hold: phones, e-mail, names in messengers, links."""
