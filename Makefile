# Every target does its own set-up: a fresh machine needs Python >= 3.11 and make, nothing else.
PYTHON ?= python3
BIN := .venv/bin

# uv installs in a few seconds what takes pip a minute. Where there is none it is installed, and where
# it fails, pip installs the same packages.
ifneq (,$(shell command -v uv 2>/dev/null))
VENV := uv venv --quiet --allow-existing --python $(PYTHON) .venv
INSTALL := uv pip install --quiet --python $(BIN)/python -c constraints.txt
else
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
VENV := $(PYTHON) -m venv .venv && ($(PIP) uv || true)
INSTALL := sh -c 'UV_HTTP_TIMEOUT=10 $(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt "$$@" \
  || $(PIP) -c constraints.txt "$$@"' install
endif

# Tests start hundreds of processes: what is compiled once is kept.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo docs test tests test-fast test-engines engines-classic engines-connect engines-others test-slow test-gate test-attacks lint test-minimum bench side-by-side experiments clean

install: .venv/.complete

# The markers are written last, so that an install cut short is done again. What isn't compiled here
# is compiled where it is first imported, and most of it never is.
# What the demo needs is part of it: one install takes less time than two.
.venv/.complete: pyproject.toml constraints.txt
	$(VENV)
	$(INSTALL) -e '.[demo,test]'
	@touch .venv/.demo $@

# Of statsmodels the demo reads a table, and imports nothing: pandas and the like can wait.
.venv/.demo: pyproject.toml constraints.txt
	$(VENV)
	$(INSTALL) -e .
	$(INSTALL) --no-deps statsmodels
	@touch $@

demo: .venv/.demo
	@rm -rf build/demo && mkdir -p build
	@$(BIN)/leastnoise demo build/demo

# The documentation site, in build/site: read it there, without a server. Pages are in docs/.
docs: install
	$(INSTALL) -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tests.readability
	$(BIN)/python -m tests.public_docstrings
	$(BIN)/python -m tests.dialect
	$(BIN)/lint-imports
	$(BIN)/ty check

# Linters beside the tests: the first that fails ends both.
test: install
	@$(MAKE) --no-print-directory -j 2 lint tests

# One worker more than cores, since tests wait for disks and processes; each collects all tests. Tests
# run make themselves, which is no part of this one.
WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
tests: install
	env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS OMP_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist worksteal --share

# After a change in one room of noise: make test-fast ROOM=kernels. It takes half a minute; all rooms two.
ROOM ?=
test-fast: install
	$(BIN)/ruff check . && $(BIN)/lint-imports
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal \
	  tests/noise/$(ROOM) tests/noise/test_*.py src/leastnoise/noise/$(ROOM) tests/calibration/test_calibrate.py

# All slow and dense ones, with what each file takes for the choices of `test` and `test-gate`.
test-slow: install
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal -m '(slow or dense) and not engines' --write-slow-seconds

# One dense test of every function of the packages that changed and of half the other functions, more
# dense and slow tests of those packages and a tenth of the others, and a few attacks of each kind, in
# one run that ends on both cores at once. The commit chooses, so that each commit tries others.
COMMIT = $(shell git rev-parse HEAD 2>/dev/null)
test-gate: install
	OMP_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist worksteal -m '((slow or dense) and not engines) or attack' \
	  --gate --attacks 120 --attack-seed $(or $(COMMIT),1)

# So many attacks of each kind, a tenth where one takes as long as ten others, a fiftieth of models,
# a hundredth of containers; from another SEED, others. The guard of tests/attacks says how many were tried, and how to
# see one again.
ATTACKS ?= 10000
SEED ?= 1
test-attacks: install
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m attack --attacks $(ATTACKS) --attack-seed $(SEED) tests/attacks

# The same tables on Spark, classic and Connect, and of PostgreSQL and dask. As root on Debian it installs
# Java and PostgreSQL; elsewhere it says what is missing.
test-engines: install
	sh tests/engines/install.sh
	$(INSTALL) -e '.[dask,notebook,postgres,spark]' distributed
	@$(MAKE) --no-print-directory -j 2 engines-classic engines-connect engines-others

# One process each, beside each other: in each Java has to warm up once. Classic Spark runs all cases,
# and of grids of seeds a share that the commit chooses. Connect compiles the same columns: it runs one
# case of every function.
engines-classic:
	OMP_NUM_THREADS=1 $(BIN)/pytest -m engines --gate --gate-seconds 40 --spark classic tests/engines
engines-connect:
	OMP_NUM_THREADS=1 $(BIN)/pytest -m 'engines and not slow and not dense' --spark connect tests/engines
engines-others:
	OMP_NUM_THREADS=1 $(BIN)/pytest -m engines --spark none tests/engines

# The lowest versions that pyproject.toml allows, in an environment of their own. Warnings of newer
# libraries about them are none of ours.
test-minimum:
	$(PYTHON) -m venv --clear .venv-minimum
	.venv-minimum/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-minimum/bin/uv pip install --quiet --python .venv-minimum --resolution lowest-direct -e '.[demo,learn,report,zstd]' 'polars>=2.0' 'pyarrow>=22'
	.venv-minimum/bin/uv pip install --quiet --python .venv-minimum hypothesis mpmath pytest pytest-xdist
	OMP_NUM_THREADS=1 .venv-minimum/bin/pytest -n auto --dist worksteal -o filterwarnings=default \
	  tests/balls tests/cli tests/guarantees tests/ledger tests/mechanism tests/report tests/tables

bench: install
	$(INSTALL) -e '.[bench]'
	@$(BIN)/python -m benchmarks > benchmarks/RESULTS.new
	@mv benchmarks/RESULTS.new benchmarks/RESULTS.md && cat benchmarks/RESULTS.md

# The same release by other libraries, each in an environment of its own (2 GB, made on demand).
# Tumult Analytics needs Java as well; what can't be run here is named with the reason.
side-by-side: install
	@$(BIN)/python -m benchmarks.side_by_side
	@$(BIN)/python -m benchmarks.side_by_side.everyday
	@$(BIN)/python -m benchmarks.side_by_side.office

# Some minutes each; the losses.csv files that are there are completed, not computed again, which
# would take up to half an hour more.
experiments: install
	$(INSTALL) -e '.[bench,report]'
	@for run in experiments/*/run.py experiments/*/*/run.py; do OMP_NUM_THREADS=1 $(BIN)/python $$run || exit 1; done

clean:
	rm -rf .venv .venv-minimum .venv-side build
