"""The checks, a folder for each suite and in it a module for each matter. Importing a suite's folder registers them."""
