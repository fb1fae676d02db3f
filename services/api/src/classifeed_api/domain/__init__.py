"""What an upload is, without any store or wire."""
