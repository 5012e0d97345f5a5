"""The model boundary: the contract, the adapters, and the helpers that adapters are made of."""
