# Everything runs in .venv, which the targets make when it is needed. Another Python: make PYTHON=python3.12 test
PYTHON  ?= python3
WORKERS ?= 2
SECONDS ?= 60
GPU_PYTHON ?= python3

BIN  := .venv/bin
PIP  := $(BIN)/python -m pip --disable-pip-version-check -qq install -c constraints.txt
DEPS := pyproject.toml constraints.txt

# pip compiles one file after the other, tests of other libraries included; this takes all cores, and our own code too.
COMPILE = $(BIN)/python -m compileall -qq -j 0 -x /tests/ .venv/lib src/kernelease || true

# Whoever has switched bytecode off would else compile every module again in each worker, and in each process of a test.
unexport PYTHONDONTWRITEBYTECODE

# Each worker gets one BLAS thread: together they use the cores that there are.
PYTEST = OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-fast test-anywhere check audit fuzz test-gpu bench-gpu static lint types tests format docs bench-paper bench-pass bench-rates bench-vectors bench-embeddings bench-descendants bench-shapes bench-tables bench-public bench-prediction bench-other bench-first-minute bench-texture bench-inference bench-thinning bench-replicates bench-relational size clean bench-scale

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: .venv/.core  ## a whole release of a generated table, from nothing but Python
	$(BIN)/kernelease demo

test: lint  ## everything: the checks, and all tests; a quarter of an hour on two cores
	@$(MAKE) --no-print-directory -j 2 types tests

# Types are checked while the tests run: mypy has one process, and leaves a core idle.
tests: .venv/.dev
	$(PYTEST)

test-fast: .venv/.dev  ## the tests of the daily loop, in under 90 seconds
	$(PYTEST) -m "not slow and not statistical"

check: static test-fast  ## format, lint, strict types, import contracts, and the quick tests

test-anywhere: .venv/.dev  ## all tests as on other machines: linear algebra, instructions, threads, seeds (hours; OPTIONS="-m 'not slow and not whole'")
	$(BIN)/python -m tests.anywhere -n $(WORKERS) --dist worksteal $(OPTIONS)

audit: .venv/.dev  ## attack the guarantee: every audit with its broken twin, and whole grids that tests sample (three quarters of an hour)
	$(PYTEST) -m whole tests
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m audits --write

fuzz: .venv/.fuzz  ## feed damaged and hostile input to every reader, SECONDS (60) each
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m audits.fuzz --seconds $(SECONDS)

test-gpu:  ## that sums on a GPU are the processor's to the bit; with GPU_PYTHON (python3), which has CuPy and pytest
	PYTHONPATH=src $(GPU_PYTHON) -m pytest -p no:cacheprovider tests/gpu/test_same_bits.py

bench-gpu:  ## rows a second on a GPU, and whether the bits are the same; with GPU_PYTHON, which has CuPy
	PYTHONPATH=src $(GPU_PYTHON) benchmarks/gpu.py

static: lint types

lint: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: .venv/.dev
	$(BIN)/mypy --strict src

format: .venv/.dev  ## rewrite the code in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/.docs  ## the documentation as a site, in the folder site: strict, no broken link, nothing from other hosts
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "Open site/index.html"

bench-paper: .venv/.plot  ## the paper's figures 1 and 2, our numbers beside the published ones
	$(BIN)/python benchmarks/paper.py

bench-vectors: .venv/.core  ## Adaptive on the paper's data, beside what it must not pass
	$(BIN)/python benchmarks/vectors.py --write $(OPTIONS)

bench-embeddings: .venv/.bench  ## vectors with classes: ours beside noisy class moments, DP-MERF and Private Evolution
	$(BIN)/python benchmarks/embeddings.py --write $(OPTIONS)

bench-descendants: .venv/.core  ## vectors without classes: ours beside DP-MERF, DP-HP, private KDE, private measures, Private Evolution
	$(BIN)/python benchmarks/descendants.py --write $(OPTIONS)

bench-shapes: .venv/.core  ## Adaptive beside the paper's algorithms on data of many shapes
	$(BIN)/python benchmarks/shapes.py --write $(OPTIONS)

bench-rates: .venv/.plot  ## error against the number of rows, with fitted slopes
	$(BIN)/python benchmarks/rates.py

bench-pass: .venv/.core  ## the private pass of ten million rows against its ceilings (OPTIONS="--largest 100000000")
	$(BIN)/python benchmarks/private_pass.py $(OPTIONS)

bench-scale: .venv/.dev  ## every engine over the same table: the table of docs/scale.md
	$(BIN)/python benchmarks/scale.py --write $(OPTIONS)

bench-tables: .venv/.bench .venv-peers/.peers  ## Adult: ours beside the peers, in one table (hours; OPTIONS=--help)
	$(BIN)/python benchmarks/tables.py $(OPTIONS)

bench-public: .venv/.bench  ## wide, long and nearly functional public tables, with defaults (OPTIONS=--help)
	$(BIN)/python benchmarks/public_tables.py $(OPTIONS)

bench-prediction: .venv/.bench .venv-peers/.peers  ## AUCs on public tables, beside the peers (hours; OPTIONS=--keep takes theirs from git)
	$(BIN)/python benchmarks/prediction.py $(OPTIONS)

bench-other: .venv/.bench  ## generated tables of many sizes, with defaults (OPTIONS=--quick)
	$(BIN)/python benchmarks/other_tables.py $(OPTIONS)

bench-first-minute: .venv/.bench  ## CPU seconds of demo, report, query, refusals and plan beside the release (OPTIONS=--quick)
	$(BIN)/python benchmarks/first_minute.py --write $(OPTIONS)

bench-texture: .venv/.bench  ## spikes, grids, maps, ranges and a classifier, on generated and public tables
	$(BIN)/python benchmarks/texture.py --write $(OPTIONS)

bench-inference: .venv/.core  ## one page: intervals, promises, replicates, tests (OPTIONS="--repeats 100 --jobs 16")
	$(BIN)/python benchmarks/inference_tests.py
	$(BIN)/python benchmarks/inference_speed.py
	$(BIN)/python benchmarks/inference_promises.py $(OPTIONS)
	$(BIN)/python benchmarks/replicates.py $(OPTIONS)
	$(BIN)/python benchmarks/inference.py --page $(OPTIONS)

bench-thinning: .venv/.core  ## rows of equal weight: thinning beside independent draws
	$(BIN)/python benchmarks/thinning.py

bench-relational: .venv/.bench  ## two pairs of public tables: parents, numbers, children, siblings (OPTIONS=--help)
	$(BIN)/python benchmarks/relational.py --write $(OPTIONS)

bench-replicates: .venv/.core  ## whether intervals from replicate data sets cover
	$(BIN)/python benchmarks/replicates.py

size:  ## seconds and megabytes of a fresh core install
	$(PYTHON) benchmarks/install_size.py

clean:  ## remove the virtual environment, builds and caches
	rm -rf .venv .venv-peers build dist site .fuzz .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name .git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

.venv/.core: $(DEPS)
	@$(PYTHON) -c 'import sys; sys.exit("kernelease needs Python 3.11 or later; try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Installing kernelease into .venv (about a minute, quietly)"
	@$(PYTHON) -m venv .venv
	@$(PIP) --no-compile -e .
	@$(COMPILE)
	@touch $@

.venv/.dev: .venv/.core
	@echo "Installing the development tools into .venv"
	@$(PIP) -e ".[dev]"
	@touch $@

# atheris has wheels for Linux and some Pythons only; without it, fuzzing goes by mutation alone, and says so.
.venv/.fuzz: .venv/.dev
	@$(PIP) --only-binary :all: atheris || echo "atheris can't be installed here"
	@touch $@

.venv/.plot: .venv/.core
	@echo "Installing the plotting extra into .venv"
	@$(PIP) -e ".[plot]"
	@touch $@

.venv/.docs: .venv/.core
	@echo "Installing what builds the site into .venv"
	@$(PIP) -e ".[docs]"
	@touch $@

.venv/.bench: .venv/.core
	@echo "Installing what scores tables into .venv"
	@$(PIP) -e ".[bench]"
	@touch $@

# The peers have an environment of their own: their pins are not ours. One that does not install is said to be absent.
.venv-peers/.peers:
	@echo "Installing the peers into .venv-peers"
	@$(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/python -m pip --disable-pip-version-check -qq install dpmm || echo "dpmm does not install here."
	@touch $@
