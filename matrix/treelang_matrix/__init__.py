"""The provider compatibility matrix: generated from a manifest, every claim backed by conformance evidence."""
