"""The loopback provider and the scripts it plays."""
