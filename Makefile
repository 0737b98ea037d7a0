.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := -m pip install --quiet --disable-pip-version-check
GROUP ?=

.PHONY: help demo system test verify latest lint types docs screens bench soak audit clean

help:  ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Hedgerow needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -c constraints.txt --upgrade pip
	$(BIN)/python $(PIP) -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)  ## make a population, release it privately, ask questions
	$(BIN)/hedgerow demo --out out/demo

system:  ## fetch what some tests need and pip does not have (chromium, PostgreSQL, a JDK, R), where that can be done
	@.ci/system

test: $(STAMP) system  ## all tests, the long ones at small size
	$(BIN)/python -m pytest -n auto --dist loadgroup --timeout 120

verify: $(STAMP) system  ## tests at full size: GROUP=core, audit, sql, faults, console, ... or all of them
	HEDGEROW_FULL=1 $(BIN)/python -m pytest -n auto --dist loadgroup --timeout 2400 $(if $(GROUP),--group $(GROUP))

latest: system  ## all tests with the newest versions of everything, in an environment of their own
	$(PYTHON) -m venv --clear $(VENV)-latest
	$(VENV)-latest/bin/python $(PIP) --upgrade pip
	$(VENV)-latest/bin/python $(PIP) --upgrade -e '.[dev]'
	$(VENV)-latest/bin/python -m pytest -n auto --dist loadgroup --timeout 240

lint: $(STAMP)  ## ruff
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples

types: $(STAMP)  ## mypy, strict, for everything
	$(BIN)/mypy

docs: $(STAMP)  ## check that pages, links and examples hold
	$(BIN)/python -m pytest tests/docs

screens: $(STAMP) system  ## pictures of every page and state of the console, into out/screens/
	$(BIN)/python scripts/screens.py

bench: $(STAMP)  ## benchmarks beside their peers; writes docs/benchmarks.md
	$(BIN)/python $(PIP) -c constraints.txt -e '.[peers]'
	$(BIN)/hedgerow bench

soak: $(STAMP)  ## a server under load for 20 minutes; never in CI
	HEDGEROW_SOAK_SECONDS=1200 $(BIN)/python -m benchmarks._soak

audit: $(STAMP)  ## try to refute every mechanism's privacy
	$(BIN)/hedgerow audit --all

clean:  ## remove the environment and what was made
	rm -rf $(VENV) $(VENV)-latest out .pytest_cache .mypy_cache .ruff_cache .hypothesis
