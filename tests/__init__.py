"""Tests of the three packages and the tools that feed them, mirroring the layout of what they test."""
