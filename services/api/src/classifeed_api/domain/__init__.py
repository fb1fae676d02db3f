"""What uploads and feeds are, without any store or wire."""
