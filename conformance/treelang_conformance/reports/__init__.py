"""What a report looks like to people and to other tools: one module a form."""
