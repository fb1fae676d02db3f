"""One seller beside the floods of another one (`make bench-shares`)."""
