"""The checks, one module per family of clauses. Importing this package registers them all."""
