"""The checks of a tool provider. Importing this package registers them all."""

from treelang_conformance.registry import import_modules

import_modules(__name__, __path__)
