"""The command line and the embedded platform, which runs the suite on one machine."""
