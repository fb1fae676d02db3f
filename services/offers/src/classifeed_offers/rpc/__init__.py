"""What is answered over gRPC."""
