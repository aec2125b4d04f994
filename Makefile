# Everything runs in .venv, which the targets make when it is needed. Another Python: make PYTHON=python3.12 test
PYTHON  ?= python3
WORKERS ?= 2

BIN  := .venv/bin
PIP  := $(BIN)/python -m pip --disable-pip-version-check -qq install -c constraints.txt
DEPS := pyproject.toml constraints.txt

# Each worker gets one BLAS thread: together they use the cores that there are.
PYTEST = OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-fast check static format bench-paper bench-pass bench-rates size clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: .venv/.core  ## a whole release of a generated table, from nothing but Python
	$(BIN)/kernelease demo

test: static  ## everything: the checks, then all tests
	$(PYTEST)

test-fast: .venv/.dev  ## the tests of the daily loop, in under 90 seconds
	$(PYTEST) -m "not slow and not statistical"

check: static test-fast  ## format, lint, strict types, import contracts, and the quick tests

static: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

format: .venv/.dev  ## rewrite the code in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench-paper: .venv/.plot  ## the paper's figures 1 and 2, our numbers beside the published ones
	$(BIN)/python benchmarks/paper.py

bench-rates: .venv/.plot  ## error against the number of rows, with fitted slopes
	$(BIN)/python benchmarks/rates.py

bench-pass: .venv/.core  ## the private pass of ten million rows against plain counting
	$(BIN)/python benchmarks/private_pass.py

size:  ## seconds and megabytes of a fresh core install
	$(PYTHON) benchmarks/install_size.py

clean:  ## remove the virtual environment, builds and caches
	rm -rf .venv build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name .git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

.venv/.core: $(DEPS)
	@$(PYTHON) -c 'import sys; sys.exit("kernelease needs Python 3.11 or later; try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Installing kernelease into .venv (about a minute, quietly)"
	@$(PYTHON) -m venv .venv
	@$(PIP) -e .
	@touch $@

.venv/.dev: .venv/.core
	@echo "Installing the development tools into .venv"
	@$(PIP) -e ".[dev]"
	@touch $@

.venv/.plot: .venv/.core
	@echo "Installing the plotting extra into .venv"
	@$(PIP) -e ".[plot]"
	@touch $@
