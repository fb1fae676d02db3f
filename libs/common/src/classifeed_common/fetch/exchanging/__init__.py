"""One request and its response: headers, status, redirects, decoding and storing of the body."""
