"""Bugs that other projects had at this boundary, each of them a case that our adapters must pass.

The reports are public; what is here of them is an id, where the report stands, what went wrong in our words, what
the provider sends, and how the call must end by the contract. Where a report asks for what lies above a transport
(a retry, a fallback, a validation), the case says what the transport alone must do.
"""
