"""Recorded provider traffic, replayed through the adapters."""
