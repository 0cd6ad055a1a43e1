# Every target sets up .venv on first use; the second time that takes no time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DOCS_INSTALLED := $(VENV)/.installed-docs

.DEFAULT_GOAL := help
.PHONY: help setup demo docs test test-fast test-slurm test-faults lint format bench clean

help:  ## show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(INSTALLED): pyproject.toml constraints.txt $(wildcard src/aswd/distances/native/*.cpp src/aswd/distances/native/*.inl)
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "aswd needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

setup: $(INSTALLED)  ## create .venv and install everything into it

demo: $(INSTALLED)  ## the flow's main figure at a small scale: particles, table, verdict and report, in a minute
	$(BIN)/python scripts/demo.py

test: $(INSTALLED)  ## run the whole test suite
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-fast: $(INSTALLED)  ## run the tests that take no longer than a few seconds each
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow'

test-slurm: $(INSTALLED)  ## a sweep with accidents on a real SLURM, which is installed for it (root and apt-get): five minutes
	$(BIN)/python -m tests.slurm.prove $(OPTIONS)

test-faults: $(INSTALLED)  ## a hundred runs with twenty kills, full disks, jumping clocks: twelve minutes; OPTIONS='--scale 10': ten times as many
	$(BIN)/python -m tests.launchers.faults $(OPTIONS)

$(DOCS_INSTALLED): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	touch $@

docs: $(DOCS_INSTALLED)  ## build the documentation: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lint: $(INSTALLED)  ## check style, formatting and which package imports which
	$(BIN)/lint-imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(INSTALLED)  ## mend style and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(INSTALLED)  ## time the distances against plain torch and POT, and the flow
	$(BIN)/aswd bench
	$(BIN)/aswd bench flow

clean:  ## remove .venv and caches (outputs/ stays)
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis build dist site
