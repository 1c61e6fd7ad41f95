# Every target does its own set-up: a virtual environment in .venv and, for the tests, the cross
# compilers and emulators of the boards (installed when run as root on Debian or Ubuntu).
#
#   make demo      compile a face detector, find the faces in a photograph, draw them
#   make test      lint, type check and every test that takes seconds
#   make test-all  the same and the tests that take minutes, with new random examples each time
#   make mutants   mistakes of one line, and whether tests notice them (part of test-all)
#   make coverage  the tests of make test, and which lines and branches of edgeconv they never took
#   make lint      ruff, mypy --strict, import-linter
#   make format    let ruff format the Python files
#   make clean     remove what the above made
#
# TIMES=FILE with make test: what every test costs (python -m tests.cpu_times FILE)

PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Tests start Python by the hundred: what it compiles is kept, out of sight of the sources.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache
# Idle workers take over tests that wait.  Failures are shown as they occur, at the end what took
# longest.
PYTEST := -n $(JOBS) --dist worksteal --durations=25 --durations-min=1 $(TIMES:%=--cpu-times %)

.DEFAULT_GOAL := help
.PHONY: help demo test test-all checked mutants coverage lint format toolchains clean
# Mutually independent targets would share one .venv.
.NOTPARALLEL:

help:
	@sed -n 's/^#   //p' Makefile

demo: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" examples/face-detector/demo.sh

test: checked
	$(BIN)/python -m pytest $(PYTEST) -m "not slow" --hypothesis-seed=0

test-all: checked
	$(BIN)/python -m pytest $(PYTEST)
	$(BIN)/python -m tests.mutants

# Lint computes while compilers and emulators are downloaded; both end before tests begin.
checked: $(READY)
	@tools/setup_toolchains.sh & set_up=$$!; \
	$(MAKE) --no-print-directory lint; linted=$$?; \
	wait $$set_up && exit $$linted

mutants: $(READY)
	$(BIN)/python -m tests.mutants

# Programs that tests start are measured too (tool.coverage in pyproject.toml).
coverage: $(READY) toolchains
	$(BIN)/python -m coverage erase
	status=0; $(BIN)/python -m coverage run -m pytest $(PYTEST) -m "not slow" --hypothesis-seed=0 || status=$$?; \
	$(BIN)/python -m coverage combine --quiet && $(BIN)/python -m coverage report && exit $$status

lint: export MYPY_NUM_WORKERS = $(JOBS)
lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPYPATH=bench $(BIN)/mypy edgeconv bench tests tools examples/*/*.py
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

toolchains:
	@tools/setup_toolchains.sh

$(READY): pyproject.toml tools/setup_venv.sh
	@tools/setup_venv.sh "$(PYTHON)" $(VENV)
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage .coverage.*
