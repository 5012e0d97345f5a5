"""The wires: each puts neutral answers into the bytes of one protocol, and received requests into neutral ones."""
