"""Contact details in a text: phone numbers, e-mail addresses, names in messengers, links."""
