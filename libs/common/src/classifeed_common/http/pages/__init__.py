"""Web pages for people who sign in with a token: templates, session, and checks of requests."""
