.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo browser test verify lint types docs bench audit clean

help:  ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Hedgerow needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)  ## make a population, release it privately, ask questions
	$(BIN)/hedgerow demo --out out/demo

browser:  ## fetch chromium for the browser tests, where that can be done
	@.ci/browser

test: $(STAMP) browser  ## all tests, the long ones at small size
	$(BIN)/python -m pytest -n auto --dist worksteal

verify: $(STAMP) browser  ## all tests at full size (kill loops, long streams)
	HEDGEROW_FULL=1 $(BIN)/python -m pytest -n auto --dist worksteal

lint: $(STAMP)  ## ruff
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples

types: $(STAMP)  ## mypy, strict, for queries, privacy and curator
	$(BIN)/mypy

docs: $(STAMP)  ## check that pages, links and examples hold
	$(BIN)/python -m pytest tests/docs

bench: $(STAMP)  ## benchmarks beside their peers; writes docs/benchmarks.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[peers]'
	$(BIN)/hedgerow bench

audit: $(STAMP)  ## try to refute every mechanism's privacy
	$(BIN)/hedgerow audit --all

clean:  ## remove the environment and what was made
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis
