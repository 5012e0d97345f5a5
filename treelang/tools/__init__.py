"""The tool boundary: what tools there are, whether arguments fit, and how a tool is called."""
