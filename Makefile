# Everything a developer runs. `make help` lists it.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
EMPTY :=
BIN := $(VENV)/bin
TYPED := libs/common/src libs/domain/src libs/jobs/src libs/client/src cli/src $(wildcard services/*/src) tools \
	$(wildcard libs/*/tests services/*/tests) cli/tests tests bench conftest.py
MEMBERS := $(wildcard libs/*/pyproject.toml) $(wildcard services/*/pyproject.toml) cli/pyproject.toml
STAMP := $(VENV)/.ready
UV_VERSION := $(shell sed -n 's/^uv==\([^ ]*\).*/\1/p' requirements.lock)
# A file of tests in one process; how many processes, in which order: conftest.py.
PYTEST_WORKERS ?= -n auto --dist loadfile --no-loadscope-reorder
CAMPAIGN_WORKERS ?= -n 3 --dist loadfile --no-loadscope-reorder
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Without a home that can be written, uv keeps its downloads in .venv.
ifneq ($(shell test -n "$$HOME" && mkdir -p "$${XDG_CACHE_HOME:-$$HOME/.cache}/uv" 2> /dev/null && echo yes),yes)
export UV_CACHE_DIR := $(CURDIR)/$(VENV)/cache/uv
endif
# Byte code is kept: compiled anew in each of their processes it would be a fifth of what the tests cost.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo up down test test-fast lint lint-types lint-rest format stubs pictures lock bench mutants chaos clean

help:  ## what can be made
	@grep -hE '^[a-z-]+%?:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(STAMP)  ## make .venv with what requirements.lock pins, and the workspace in it

$(VENV)/.tools:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@

$(STAMP): $(VENV)/.tools requirements.lock $(MEMBERS)
	$(BIN)/uv pip sync --python $(BIN)/python --quiet --compile-bytecode --require-hashes requirements.lock
	$(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps --no-build-isolation $(foreach m,$(MEMBERS),-e $(dir $(m)))
	@touch $@

demo: setup  ## load a sample feed into the whole suite, show what became of it, stop
	$(BIN)/classifeed demo

up: setup  ## start the whole suite and leave it running
	$(BIN)/classifeed up --detach

down: setup  ## stop what `make up` started
	$(BIN)/classifeed down

test: setup  ## the tests, campaigns in a short form or left to `make chaos`
	$(BIN)/python -m pytest $(PYTEST_WORKERS)

test-fast: setup  ## the tests that take no more than a few seconds each
	$(BIN)/python -m pytest $(PYTEST_WORKERS) -m "not slow and not e2e"

lint: setup  ## ruff, mypy, import-linter, furniture, buf, stubs up to date
	@$(MAKE) --no-print-directory -j2 lint-types lint-rest

lint-types:
	MYPYPATH=$(subst $(EMPTY) ,:,$(wildcard services/*/src)) $(BIN)/mypy $(TYPED)

lint-rest:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m tools.furniture
	$(BIN)/buf lint
	$(BIN)/python tools/breaking.py
	$(BIN)/python tools/genproto.py --check
	$(BIN)/python -m tools.assemble_sql --check
	$(BIN)/python -m tools.chart_schemas --check
	$(BIN)/python -m tools.suite_chart --check
	$(BIN)/python -m tools.dockerfiles --check
	$(BIN)/python -m tools.import_contracts --check
	$(BIN)/python -m tools.chart_readmes --check
	$(BIN)/python -m tools.dashboards --check

format: setup  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .

stubs: setup  ## generate libs/contracts from proto/, SQL from its parts, schemas, READMEs and dashboards of charts, Dockerfiles
	$(BIN)/python tools/genproto.py
	$(BIN)/python -m tools.assemble_sql
	$(BIN)/python -m tools.chart_schemas
	$(BIN)/python -m tools.suite_chart
	$(BIN)/python -m tools.dockerfiles
	$(BIN)/python -m tools.import_contracts
	$(BIN)/python -m tools.chart_readmes
	$(BIN)/python -m tools.dashboards

pictures: setup  ## play the demo and draw its terminal, and the diagram of the suite, for the README
	$(BIN)/python -m tools.pictures --record

lock: $(VENV)/.tools  ## resolve pyproject.toml into requirements.lock
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --generate-hashes --no-header --no-annotate --quiet -o requirements.lock

bench-%: setup  ## one folder of bench/, e.g. bench-feeds
	$(BIN)/python -m bench.$*

bench: $(patsubst bench/%/__main__.py,bench-%,$(wildcard bench/*/__main__.py))  ## every benchmark

mutants: setup  ## break the mechanisms on purpose and see that tests notice; ONLY="name other" for some
	$(BIN)/python -m tools.mutations $(ONLY)

chaos: setup  ## the fault campaigns in their long form, about two hours
	CLASSIFEED_CAMPAIGN=long $(BIN)/python -m pytest $(CAMPAIGN_WORKERS) -m "slow or e2e"

clean:  ## remove what make and the tools made
	rm -rf $(VENV) .classifeed .pytest_cache .mypy_cache .ruff_cache .hypothesis build
