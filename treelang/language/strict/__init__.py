"""The closed projections of the program formats, for providers that enforce a JSON Schema (strict output)."""
