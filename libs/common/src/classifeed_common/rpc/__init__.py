"""gRPC both ways: a server that admits, checks, measures and explains; a channel that signs and passes deadlines on."""
