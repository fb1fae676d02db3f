"""What an installation is made of: folders, ports, credentials, services, and the steps of their migration."""
