"""Running programs: one evaluator for both formats, within limits, without Python's stack, cancellable everywhere."""
