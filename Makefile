# Everything a developer runs. `make help` lists it.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
EMPTY :=
BIN := $(VENV)/bin
TYPED := libs/common/src libs/devkit/src libs/domain/src libs/feeds/src libs/imaging/src libs/jobs/src libs/client/src cli/src $(wildcard services/*/src) tools \
	$(wildcard libs/*/tests services/*/tests) cli/tests tests bench conftest.py
MEMBERS := $(wildcard libs/*/pyproject.toml) $(wildcard services/*/pyproject.toml) cli/pyproject.toml
STAMP := $(VENV)/.ready
UV_VERSION := $(shell sed -n 's/^uv==\([^ ]*\).*/\1/p' requirements.lock)
# One process runs a file of tests; conftest.py sets the number of processes and the order.
PYTEST_WORKERS ?= -n auto --dist loadfile --no-loadscope-reorder
CAMPAIGN_WORKERS ?= -n 3 --dist loadfile --no-loadscope-reorder
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Without a writable home, uv keeps its downloads in .venv.
ifneq ($(shell test -n "$$HOME" && mkdir -p "$${XDG_CACHE_HOME:-$$HOME/.cache}/uv" 2> /dev/null && echo yes),yes)
export UV_CACHE_DIR := $(CURDIR)/$(VENV)/cache/uv
endif
# Compiling one large file may take longer than the default of 60 s while other work has the cores.
export UV_COMPILE_BYTECODE_TIMEOUT := 600
# Byte code is kept: compiling it again in each test process takes a fifth of the CPU of the tests.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo up down test test-fast lint lint-types lint-rest format stubs pages pictures lock bench mutants chaos clean

help:  ## list the targets
	@grep -hE '^[a-z-]+%?:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(STAMP)  ## create .venv with the packages of requirements.lock and of the workspace

$(VENV)/.tools:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@

$(STAMP): $(VENV)/.tools requirements.lock $(MEMBERS)
	$(BIN)/uv pip sync --python $(BIN)/python --quiet --compile-bytecode --require-hashes requirements.lock
	$(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps --no-build-isolation $(foreach m,$(MEMBERS),-e $(dir $(m)))
	@touch $@

demo: setup  ## start the whole suite, load a sample feed, show the outcome, stop
	$(BIN)/classifeed demo

up: setup  ## start the whole suite in the background
	$(BIN)/classifeed up --detach

down: setup  ## stop the suite of `make up`
	$(BIN)/classifeed down

test: setup  ## run the tests; campaigns run in a short form, or in `make chaos` only
	$(BIN)/python -m pytest $(PYTEST_WORKERS)

test-fast: setup  ## run the fast tests that need no server
	$(BIN)/python -m pytest $(PYTEST_WORKERS) -m "not slow and not e2e and not server"

test-%: setup  ## run the tests of one service or library, e.g. test-offers
	$(BIN)/python -m pytest $(PYTEST_WORKERS) $(wildcard services/$*/tests libs/$*/tests $*/tests)

lint: setup  ## run ruff, mypy, import-linter, furniture and buf; check generated files
	@$(MAKE) --no-print-directory -j2 lint-types lint-rest

lint-types:
	MYPYPATH=$(subst $(EMPTY) ,:,$(wildcard services/*/src)) $(BIN)/mypy $(TYPED)

lint-rest:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m tools.furniture
	$(BIN)/buf lint
	$(BIN)/python -m tools.checks.breaking
	$(BIN)/python -m tools.generate.stubs --check
	$(BIN)/python -m tools.generate --check

format: setup  ## fix and format the code with ruff
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .

stubs: setup  ## generate libs/contracts from proto/, SQL from its parts, schemas, READMEs and dashboards of charts, Dockerfiles
	$(BIN)/python -m tools.generate.stubs
	$(BIN)/python -m tools.generate

pages: setup  ## write the pages and charts of docs that are made from the code
	$(BIN)/python -m tools.pages

pictures: setup  ## draw the README's pictures: the demo on a terminal, and the diagram of the suite
	$(BIN)/python -m tools.pictures --record

lock: $(VENV)/.tools  ## resolve pyproject.toml into requirements.lock
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --generate-hashes --no-header --no-annotate --quiet -o requirements.lock

bench-%: setup  ## run one benchmark, e.g. bench-feeds
	$(BIN)/python -m bench.$*

bench: $(patsubst bench/%/__main__.py,bench-%,$(wildcard bench/*/__main__.py))  ## run every benchmark

mutants: setup  ## break the mechanisms on purpose and check that tests fail; ONLY="name other" for some
	$(BIN)/python -m tools.mutations $(ONLY)

chaos: setup  ## run the long fault campaigns, about two hours
	CLASSIFEED_CAMPAIGN=long $(BIN)/python -m pytest $(CAMPAIGN_WORKERS) -m "slow or e2e"

clean:  ## remove files that make and the tools created
	rm -rf $(VENV) .classifeed .pytest_cache .mypy_cache .ruff_cache .furniture_cache .hypothesis build
