"""The cassettes: what is recorded, how it is scrubbed, and the command that records it."""
