"""From a question and a set of tools to a program: what is said to the model, and what is made of its answer."""
