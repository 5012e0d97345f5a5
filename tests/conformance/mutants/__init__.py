"""Deliberately broken transports, one thing each: the proof that the kit's checks can fail, and at what."""
