# make setup   the virtual environment in .venv, Windtunnel in it, Hadoop in the cache
# make demo    a real TeraSort study on this machine, with its report
# make test    format, lint, types, all tests (those with real daemons too)
# make fit     the constants of the physics model from the published studies
# make bench   time to ready, overheads, report speed
#
# Needs Python 3.11 or newer with venv, and make. Nothing else: no Java, no Hadoop.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/stamps

PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Byte code for everything, on all cores: a command starts in a third of the time, also where
# Python is told not to write any. Tests of packages are excluded: nobody imports them, and they take
# a third of the time. Some packages ship templates that do not compile.
COMPILE_ALL := $(BIN)/python -m compileall -q -j 0 -x '/tests/' $(VENV)/lib windtunnel >/dev/null || true

.DEFAULT_GOAL := help
.PHONY: help setup demo test classes lint unit fit bench lock clean

help:
	@sed -n '/^# make/s/^# //p' Makefile

setup: $(STAMPS)/package
	@$(BIN)/python -m windtunnel.engines.fetch

demo: setup
	$(BIN)/windtunnel demo

# Types are checked by one process and Hadoop is fetched, while the first tests run. Then three
# clusters at a time: where some wait for their daemons, another works (two left 13 % of two cores
# idle, three 4 %). What measures the machine comes afterwards, with nothing beside it. One process
# runs all tests of the shared cluster.
test: $(STAMPS)/dev
	$(MAKE) --no-print-directory -j 3 lint unit classes
	$(BIN)/python -m pytest -n 3 --no-loadscope-reorder --durations=15 -m "not alone" tests/real
	$(BIN)/python -m pytest --durations=15 -m alone tests/real

# Fetches both lines of Hadoop and makes their class archives: downloads wait for the network. A
# machine without a Java runtime for the older line skips its tests.
classes: $(STAMPS)/package
	@$(BIN)/windtunnel setup
	@-$(BIN)/windtunnel setup --hadoop 3.4

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy --strict windtunnel bench examples/plugin/windtunnel_small_files tests

# the tests without real daemons
unit: $(STAMPS)/dev
	$(BIN)/python -m pytest -n logical --dist loadfile --in-memory --ignore=tests/real

fit: $(STAMPS)/package
	$(BIN)/windtunnel fit published:cisco-2014 published:vmware-2011 --from-scratch \
	  --out windtunnel/catalogue/physics/fit.json
	$(BIN)/python tools/generate_docs.py

bench: setup $(STAMPS)/dev
	$(BIN)/python -m bench

# pin every dependency anew, with hashes; the file names no registry
COMPILE := $(BIN)/uv pip compile --quiet --group build --generate-hashes --universal \
           --python-version 3.11 --no-header --upgrade pyproject.toml
lock: $(STAMPS)/dev
	$(COMPILE) -o requirements.lock
	$(COMPILE) --extra dev -c requirements.lock -o requirements-dev.lock

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Windtunnel needs Python 3.11 or newer; '$(PYTHON)' is" \
	       "$$($(PYTHON) --version 2>&1 | head -n 1)." >&2; \
	  echo "  what to do: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 5; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "'$(PYTHON)' comes without venv, which makes the virtual environment." >&2; \
	  echo "  what to do: install it (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 5; }
	@echo "making the virtual environment in $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/locked: requirements.lock $(STAMPS)/venv
	@echo "installing what requirements.lock names, each file checked against its hash"
	@$(PIP) install --no-deps --no-compile --require-hashes -r requirements.lock
	@$(COMPILE_ALL)
	@touch $@

$(STAMPS)/package: pyproject.toml $(STAMPS)/locked
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMPS)/dev: requirements-dev.lock $(STAMPS)/package
	@echo "installing what the tests need, from requirements-dev.lock"
	@$(PIP) install --no-deps --no-compile --require-hashes -r requirements-dev.lock
	@$(COMPILE_ALL)
	@touch $@
