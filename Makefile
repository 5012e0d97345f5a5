# Needs git, make, bash and Python 3.11 or newer; everything else is installed into $(VENV), locked and hashed.
# `make help` says what there is to run.

VENV ?= .venv
# Which locked environment $(VENV) holds: `dev` (newest SDKs) or `oldest` (the lowest supported versions).
LOCK ?= dev
# The interpreter to build $(VENV) with; empty means the newest of those below that can do it.
PYTHON ?=
CANDIDATES := $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python)
# Recorded provider traffic to replay, see `make traffic`.
TRAFFIC ?= ../shared/traffic/corpus.jsonl $(wildcard ../shared/traffic/fixtures.jsonl)
# More arguments for pytest, for instance ARGS='-k streaming', or for the recorder of the cassettes.
ARGS ?=

STAMP := $(VENV)/.installed-$(LOCK)
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet
TREELANG := $(BIN)/treelang
WIRES := openai-chat openai-responses anthropic-messages
SUBJECTS := treelang_conformance.subjects
REPORTS := build/conformance
# The reports of `make conformance`, suite by suite, in the order in which they are shown.
RAN = $(WIRES) $(WIRES:%=%-fallback) negotiator tools-functions tools-mcp
EVIDENCE := matrix/evidence
GENERATED := README.md docs/contract.md docs/fallback.md conformance/treelang_conformance/report.schema.json \
  matrix/treelang_matrix/manifest.schema.json

SHELL := bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup conformance test check benchmarks mutants traffic docs evidence cassettes lock clean

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

conformance: $(STAMP) ## Run every suite of the kit against what treelang brings, show tables, write JSON reports
	@mkdir -p $(REPORTS); status=0; \
	judge() { $(TREELANG) conformance run "$$@" || status=$$?; test $$status -lt 2 || exit $$status; }; \
	for wire in $(WIRES); do \
	  judge $(SUBJECTS):$${wire//-/_} --wire $$wire --json $(REPORTS)/$$wire.json; \
	  judge $(SUBJECTS):$${wire//-/_} --wire $$wire --suite fallback --json $(REPORTS)/$$wire-fallback.json; \
	done; \
	judge treelang:DefaultModelCapabilityNegotiator --suite negotiator --json $(REPORTS)/negotiator.json; \
	for provider in functions mcp; do \
	  judge $(SUBJECTS):$$provider --suite tools --json $(REPORTS)/tools-$$provider.json; \
	done; \
	$(TREELANG) conformance show $(RAN:%=$(REPORTS)/%.json); exit $$status

test: $(STAMP) ## Run all tests, on all cores
	$(BIN)/python -m pytest -n auto $(ARGS)

check: generated ## Check style, types, generated files and the provider matrix
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@for file in $(GENERATED); do \
	  diff -u $$file build/generated/$${file##*/} || { echo "$$file is stale; renew it with: make docs"; exit 1; }; \
	done
	$(TREELANG) matrix check

benchmarks: $(STAMP) ## Measure adapters beside the bare SDKs, and programs beside plain Python (on a quiet machine)
	$(BIN)/python -m tests.benchmarks.adapters
	$(BIN)/python -m tests.benchmarks.programs

mutants: $(STAMP) ## Run every check on every mutant and write the kill table (ARGS=--check compares it instead)
	$(BIN)/python -m tests.conformance.mutants.table $(ARGS)

traffic: $(STAMP) ## Replay recorded provider traffic through the adapters (TRAFFIC=file names another recording)
	$(BIN)/python -m tests.traffic.replay $(TRAFFIC)

docs: generated ## Renew what is generated: pages, published schemas, the output shown in the README
	@for file in $(GENERATED); do cp build/generated/$${file##*/} $$file; done
	$(TREELANG) matrix build

# The README's block of output is what `make conformance` ends with, taken from the newest evidence.
generated: $(STAMP)
	@mkdir -p build/generated
	@$(TREELANG) conformance show $(RAN:%=$(EVIDENCE)/newest/%.json) > build/generated/result.txt || test $$? -eq 1
	@awk '/^```text$$/ { print; while ((getline line < "build/generated/result.txt") > 0) print line; inside = 1 } \
	  /^```$$/ { inside = 0 } !inside' README.md > build/generated/README.md
	@$(TREELANG) conformance list --markdown > build/generated/contract.md
	@$(TREELANG) conformance decisions --markdown > build/generated/fallback.md
	@$(TREELANG) conformance schema > build/generated/report.schema.json
	@$(TREELANG) matrix schema > build/generated/manifest.schema.json

evidence: ## Renew the reports that the matrix rests on, with both ends of the SDK ranges, then the matrix
	@$(MAKE) conformance REPORTS=$(EVIDENCE)/newest
	@$(MAKE) conformance REPORTS=$(EVIDENCE)/oldest VENV=.venv-oldest LOCK=oldest
	@$(MAKE) docs

cassettes: $(STAMP) ## Record the cassettes anew from the loopback provider (ARGS=--real: from real ones)
	$(BIN)/python -m tests.cassettes.record $(ARGS)

lock: ## Write the locked requirement files anew from pyproject.toml and requirements/*.in
	@test -x build/lock/bin/uv || { $(firstword $(PYTHON) python3) -m venv build/lock && \
	  build/lock/bin/python -m pip --disable-pip-version-check --quiet install 'uv>=0.9'; }
	@for name in dev oldest; do \
	  build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	    --upgrade --extra dev pyproject.toml requirements/build.in requirements/$$name.in \
	    --output-file requirements/$$name.txt && echo "wrote requirements/$$name.txt"; \
	done

clean: ## Remove everything that can be made again, the virtual environment included
	rm -rf .venv .venv-oldest build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
