# The first target that you call installs what it needs.
#   make demo    fit an example, picture and report     make test       the quick tests
#   make lint    ruff and mypy                          make test-slow  every test
#   make bench   ratios of speed and mixing             make reproduce  the paper's tables and figures
#   make build   sdist and wheel without compiled code, in dist/
#   make wheel   wheel with compiled code for this platform and Python, in dist/
#   make test-wheel  both, in an empty environment
#   make coverage  lines that the quick tests run       make check-workflows  the files in .github/ and their like
#   make check-release TAG=v0.2.0  whether this tag may be published
#   make test-lowest  the quick tests with the oldest supported dependencies
#   make sbc     simulation-based calibration (hours, resumable)
#   make evidence  many problems, many methods, one time limit (hours, resumable)
#   make docs    these pages as a site: docs/_build/html/index.html
# Another interpreter: make test PYTHON=/path/to/python3.12 VENV=.venv312

# Windows names the interpreter and the folder of an environment's programs differently. There, make runs in Git Bash.
PYTHON ?= $(if $(filter Windows_NT,$(OS)),python,python3)
VENV ?= .venv
PROGRAMS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(PROGRAMS)

.PHONY: help demo docs test test-statistical test-slow test-wheel test-lowest coverage build wheel lint check-workflows check-release format bench reproduce evidence sbc clean

help:
	@sed -n 's/^#   //p' Makefile

$(VENV)/.base: pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(None if sys.version_info >= (3, 11) else 'widestable needs Python 3.11 or newer: make PYTHON=/path/to/python3.11')"
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[report]"
	touch $@

$(VENV)/.dev: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --editable ".[dev,report]"
	touch $@

$(VENV)/.experiments: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable ".[dev,report,experiments,distributed]"
	touch $@

$(VENV)/.docs: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --editable ".[report,docs]"
	touch $@

demo: $(VENV)/.base
	$(BIN)/python -m widestable demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2

test-statistical: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m statistical

test-slow: $(VENV)/.experiments
	$(BIN)/python -m pytest -n 2 -m "statistical or slow or not slow"

# Reports in the terminal and in htmlcov/. Compiled functions do not count: coverage cannot see inside them.
coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term --cov-report=html

# Nothing older may stay in dist/: a release publishes what is there.
build: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

wheel: $(VENV)/.dev
	rm -f dist/*-cp*.whl
	WIDESTABLE_COMPILE=1 $(BIN)/python -m build --wheel --outdir dist .

test-wheel: build wheel
	WIDESTABLE_DIST="$(CURDIR)/dist" $(BIN)/python -m pytest -m slow tests/packaging

# Installs the lower bounds in pyproject.toml. Old libraries use what newer ones deprecate, so those warnings are ignored. Two versions
# of numba would overwrite each other's compiled code. To run some files only: make test-lowest TESTS=tests/cli
LOWEST := $(VENV)-lowest
TESTS ?=
$(LOWEST)/.ready: pyproject.toml tools/lowest.py
	test -x $(LOWEST)/$(PROGRAMS)/python || $(PYTHON) -m venv $(LOWEST)
	$(PYTHON) tools/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/$(PROGRAMS)/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt --editable ".[dev,report]"
	touch $@

test-lowest: export NUMBA_CACHE_DIR ?= $(CURDIR)/$(LOWEST)/numba_cache
test-lowest: $(LOWEST)/.ready
	$(LOWEST)/$(PROGRAMS)/python -m pytest -n 2 -W ignore::DeprecationWarning -W ignore::pytest.PytestDeprecationWarning $(TESTS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Schemas find misspelt keys; zizmor finds what is unsafe, such as too many permissions. Neither needs a network.
SCHEMA = $(BIN)/check-jsonschema --quiet --builtin-schema
check-workflows: $(VENV)/.dev
	$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(SCHEMA) custom.github-workflows-require-timeout .github/workflows/*.yml
	$(SCHEMA) vendor.github-actions .github/actions/*/action.yml
	$(SCHEMA) vendor.dependabot .github/dependabot.yml
	$(SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(SCHEMA) vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/question.yml
	$(SCHEMA) vendor.readthedocs .readthedocs.yaml
	$(SCHEMA) vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --offline --quiet --persona pedantic .github

# The shell reads TAG from the environment, so that no part of a tag's name is run as a command.
check-release: $(VENV)/.base
	$(BIN)/python -m tools.release "$$TAG"

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Rebuild every page, because an edit of the library changes pages that run it. Warnings are errors.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -E -W --keep-going -n -q -d docs/_build/doctrees docs docs/_build/html
	@echo "Written to docs/_build/html/index.html"

# One benchmark: make bench BENCHMARK=growth
BENCHMARK ?=
bench: $(VENV)/.experiments
	$(BIN)/python -m studies.benchmarks $(BENCHMARK)

# Presets are quick, standard and full; all studies, or some: make reproduce PRESET=full STUDIES="simulated sp500"
PRESET ?= standard
STUDIES ?=
reproduce: $(VENV)/.experiments
	$(BIN)/python -m studies.reproduction $(STUDIES) --preset $(PRESET)

# Some competitors and data sets need R (Debian: r-base-core r-cran-tgp r-cran-mlbench r-cran-mass r-cran-boot); others run without.
JOBS ?= 1
evidence: $(VENV)/.experiments
	$(BIN)/python -m studies.evidence run --jobs $(JOBS)
	$(BIN)/python -m studies.evidence series --jobs $(JOBS)
	$(BIN)/python -m studies.evidence export
	$(BIN)/python -m studies.evidence page

# Fewer simulations, or some kinds: make sbc SIMULATIONS=40 KINDS="sign gibbs"
SIMULATIONS ?= 1000
KINDS ?=
sbc: $(VENV)/.dev
	$(BIN)/python -m studies.calibration $(KINDS) --simulations $(SIMULATIONS)

clean:
	find src/widestable -name '*.nb[ic]' -delete
	rm -rf $(VENV) $(LOWEST) .numba_cache .pytest_cache .mypy_cache .ruff_cache .coverage htmlcov dist docs/_build
