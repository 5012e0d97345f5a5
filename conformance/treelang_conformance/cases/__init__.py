"""What checks are given: a class for each suite, on the part that judges."""
