"""Pages for people who sign in with a token: templates, the session, and the checks of each request."""
