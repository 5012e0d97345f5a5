"""The program formats 1.0 and 2.0: models, reading and writing, static rules, published schemas."""
