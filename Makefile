# The menu. Every target makes the environment it needs; nothing has to be installed first.
# What starts servers compiles the modules first: where PYTHONDONTWRITEBYTECODE is set, as in many containers, every
# start would compile them all again, which takes longer than the rest of it. For the same reason pytest may write:
# what it compiles, with asserts that explain themselves, is more than half of the time until the first test.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: help serve test lint-and-types fast-tests test-slow simulate fuzz check lint types docs bench release clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*##/\t/' | expand -t 14

$(VENV)/.run: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt tests/requirements.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -r tests/requirements.txt
	@touch $@ $(VENV)/.run

$(VENV)/.compiled: $(VENV)/.run $(shell find src -name '*.py')
	@$(BIN)/python -m compileall -q src
	@touch $@

serve: $(VENV)/.compiled  ## install and serve on 127.0.0.1:8000, data in ./faradisc-data
	@$(BIN)/faradisc serve

test: $(VENV)/.dev $(VENV)/.compiled  ## the gate: lint, types and the fast tests, side by side
	@$(MAKE) --no-print-directory -j2 lint-and-types fast-tests

lint-and-types: lint
	@nice $(MAKE) --no-print-directory types

fast-tests: $(VENV)/.dev
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 3 --dist worksteal

test-slow: $(VENV)/.dev  ## the long runs: crash rounds, failovers, the whole corpus, a million hostile requests
	$(PIP) install -c constraints.txt -r tests/requirements-slow.txt
	$(BIN)/pytest -m slow -n 2
	$(BIN)/pytest -m hypothesis --hypothesis-profile=full -n 2
	$(BIN)/pytest tests/conformance --encrypted -n 2
	$(BIN)/pytest tests/conformance --late -n 2

HOURS ?= 1
simulate: $(VENV)/.dev  ## crashes and faults from one seed after the other, for HOURS (1)
	PYTHONPATH=tests $(BIN)/python -m simulation --hours $(HOURS)

fuzz: $(VENV)/.dev  ## a minute of coverage-guided fuzzing for each target (Linux)
	$(PIP) install -c constraints.txt -r tests/requirements-slow.txt
	PYTHONPATH=tests $(BIN)/python -m fuzz.guided --seconds 60

check: test  ## the same as test

lint: $(VENV)/.dev  ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev  ## mypy --strict on src
	$(BIN)/mypy

docs: $(VENV)/.dev  ## the documentation as a site in build/site
	$(BIN)/python tools/build_site.py

bench: $(VENV)/.dev $(VENV)/.compiled  ## Faradisc against its peers on this machine
	$(BIN)/python -m bench

release:  ## everything of a release in dist/, checked in a clean environment
	$(PYTHON) tools/release.py

clean:  ## forget the environment and the caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
