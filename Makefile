# Needs git, make and Python 3.11 or newer; everything else is installed into $(VENV), locked and hashed.
# `make help` says what there is to run.

VENV ?= .venv
# Which locked environment $(VENV) holds: `dev` (newest SDKs) or `oldest` (the lowest supported versions).
LOCK ?= dev
# The interpreter to build $(VENV) with; empty means the newest of those below that can do it.
PYTHON ?=
CANDIDATES := $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python)
# Recorded provider traffic to replay, see `make traffic`.
TRAFFIC ?= ../shared/traffic/corpus.jsonl $(wildcard ../shared/traffic/fixtures.jsonl)
# More arguments for pytest, for instance ARGS='-k streaming'.
ARGS ?=

STAMP := $(VENV)/.installed-$(LOCK)
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
REPORTS := build/conformance
EVIDENCE := matrix/evidence

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup conformance test check format traffic docs matrix evidence cassettes lock clean

help: ## Explain each target
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make or refresh the virtual environment (the other targets do it themselves)

# Depends on what decides the environment's content, so that a second run installs nothing.
$(STAMP): requirements/$(LOCK).txt pyproject.toml
	@for candidate in $(CANDIDATES); do \
	  if "$$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "Setting up $(VENV) with $$("$$candidate" --version) from requirements/$(LOCK).txt (about a minute)"; \
	    test -x $(BIN)/python || "$$candidate" -m venv $(VENV); exit; \
	  fi; \
	done; \
	echo "No Python >= 3.11 with the venv module found (tried: $(CANDIDATES))." \
	  "Install one, or name it: make PYTHON=/path/to/python" >&2; exit 1
	@$(PIP) install --require-hashes --requirement $<
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.installed-*
	@touch $@

test: $(STAMP) ## Run all tests
	$(BIN)/python -m pytest $(ARGS)

traffic: $(STAMP) ## Replay recorded provider traffic through the adapters (TRAFFIC=path for other files)
	@$(BIN)/python -m tests.traffic.replay $(TRAFFIC)

lock: ## Write the locked requirement files anew from pyproject.toml and requirements/*.in
	@test -x build/lock/bin/uv || { $(firstword $(PYTHON) python3) -m venv build/lock && \
	  build/lock/bin/python -m pip --disable-pip-version-check --quiet install 'uv>=0.9'; }
	@for name in dev oldest; do \
	  build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	    --upgrade --extra dev pyproject.toml requirements/build.in requirements/$$name.in \
	    --output-file requirements/$$name.txt && echo "wrote requirements/$$name.txt"; \
	done

clean: ## Remove everything that can be made again, the virtual environment included
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
