"""One request and its response: headers, status, redirects, and a body decoded and stored."""
