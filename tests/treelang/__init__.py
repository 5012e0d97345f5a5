"""Tests of `treelang`."""
