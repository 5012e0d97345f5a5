"""Subjects that the kit's own tests judge."""
