# Every task of the project. `make help` lists them; CI calls the same ones.
SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.9
PYTHON ?= python3
READY := $(VENV)/.ready
WORKERS ?= 2
# Tests with processes of their own wait for them half of the time.
WAITING_WORKERS ?= 3
# Neighbours share tables, operators and JVMs, so each worker begins with a part of its own, and takes of others' in the end.
SHARING ?= --dist worksteal
# What `make test` says at its end of where the time went.
SLOWEST ?= --durations 20 --durations-min 5
N ?= 100
# Which cases of large families `check` and `test` run, and where `fuzz` begins; the same for all that one make runs.
ifndef SEED
SEED := $(shell date +%s)
endif
export SEED
SAMPLE ?= --sample $(SEED)
PROFILE ?= fewer
# The folders of tests that compute all the time, most of them beside Java, and need no cluster.
COMPUTING := formats java/benchmarks java/differential java/fuzz java/memory
UNIT := $(BIN)/pytest --quiet $(SAMPLE) --hypothesis-profile quick --hypothesis-seed $(SEED) -m "not oracle and not thorough"
BENCHMARK := cd benchmarks && PYTHONPATH=$(CURDIR)/tests $(CURDIR)/$(BIN)/python -m
CODE := benchmarks operator spark-images tests

export UV_PROJECT_ENVIRONMENT := $(CURDIR)/$(VENV)
# Where it is set, all of Python is compiled anew for every process that a test starts.
unexport PYTHONDONTWRITEBYTECODE

##@ Use

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## Make a messy table, compact it on Spark, and show what changed (ARGS="--format iceberg")
	$(BIN)/lithify demo $(ARGS)

setup: $(READY) ## Create .venv with everything in it, as uv.lock says

$(READY): pyproject.toml uv.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(BIN)/uv sync --quiet --frozen --all-extras
	@touch $@

##@ Develop

check: $(READY) helm ## Lint, types, layers, unit tests (under a minute once warm)
	$(MAKE) --jobs 3 --output-sync=target lint unit-data unit-others

lint: $(READY) ## Lint, types, layers; `check` runs them beside the unit tests, some of which wait
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check --quiet $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Two processes of their own: to hand thousands of tests to workers, each of a few milliseconds, takes half as long again.
unit-data: $(READY) ## The unit tests of formats and files; `check` runs them beside the others
	$(UNIT) tests/unit/formats tests/unit/files

unit-others: $(READY) ## All other unit tests
	$(UNIT) tests/unit --ignore tests/unit/formats --ignore tests/unit/files

format: $(READY) ## Format and fix what can be fixed
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

oracle: $(READY) ## Build the Java oracle that the tests compare with (needs Maven)
	cd tests && $(CURDIR)/$(BIN)/python -c "from infrastructure.oracle.client import build; build()"

iceberg: $(READY) ## Build Spark with Iceberg, a REST catalog server and iceberg-go, for the tests (needs Maven and Go)
	@cd tests && $(CURDIR)/$(BIN)/python -m infrastructure.iceberg

arctic: $(READY) ## Build Arctic, whose keyed tables the tests make and read (needs Maven)
	@cd tests && $(CURDIR)/$(BIN)/python -m infrastructure.arctic

cluster: $(READY) ## Build the Kubernetes that the tests use, with a node where there can be one (needs Go)
	cd tests && $(CURDIR)/$(BIN)/python -m infrastructure.cluster build

classes: $(READY) ## Archive the classes that Spark loads, once per machine, so that it starts faster in the tests
	@cd tests && $(CURDIR)/$(BIN)/python -m infrastructure.building

helm: $(READY) ## Build Helm and what else checks the chart, once per machine (needs Go)
	@cd tests && $(CURDIR)/$(BIN)/python -m infrastructure.chart build

objectstore: $(READY) ## Build the servers of object stores that the tests use, once per machine (needs Go)
	@cd tests && $(CURDIR)/$(BIN)/python -m infrastructure.objectstore build

hdfs: $(READY) ## Build Hadoop's name nodes and data nodes, for the tests (needs Maven)
	@cd tests && $(CURDIR)/$(BIN)/python -m infrastructure.hdfs

images: $(READY) ## Build the images without Docker, for the tests, and print their sizes (needs root on Debian 12)
	cd tests && $(CURDIR)/$(BIN)/python -m infrastructure.images build

bills: $(READY) ## Write a software bill of materials for each of these images
	cd tests && $(CURDIR)/$(BIN)/python -m infrastructure.images bills

test: $(READY) ## `check`, then all tests against Java Paimon, Spark, Kubernetes, crashes and conflicts; of large families a sample
	@echo "SEED=$(SEED)"
	$(MAKE) --jobs 3 cluster images helm oracle iceberg arctic classes objectstore hdfs
	$(MAKE) check
	$(BIN)/pytest --quiet -n $(WAITING_WORKERS) $(SHARING) $(SAMPLE) $(SLOWEST) $(foreach path,unit node/installed $(COMPUTING),--ignore=tests/$(path)) tests
	$(MAKE) --jobs 2 --output-sync=target on-a-node computing

# The tests on the node wait for pods most of the time; what computes has the processors meanwhile.
on-a-node: $(READY) ## The tests on a node, which `make test` and `make e2e` run
	$(BIN)/pytest --quiet $(SLOWEST) tests/node/installed

thorough: $(READY) ## The unit tests that take longer, or need the oracle; `computing` runs them
	nice $(BIN)/pytest --quiet -n $(WORKERS) $(SAMPLE) --hypothesis-profile $(PROFILE) --hypothesis-seed $(SEED) -m "oracle or thorough or hypothesis" tests/unit

computing: $(READY) oracle thorough ## These, and the tests beside Java that need no cluster; `make test` runs them
	nice $(BIN)/pytest --quiet -n $(WORKERS) $(SHARING) $(SAMPLE) $(SLOWEST) $(COMPUTING:%=tests/%)

soak: ## `test` with every case of every family, and every property as often as it says
	$(MAKE) test SAMPLE= PROFILE=default

e2e: $(READY) ## The whole product on a node of its own: chart, S3, drivers and executors in pods, failures (needs root)
	$(MAKE) oracle cluster objectstore helm images
	$(MAKE) on-a-node

# Tables are in memory where there is some for that; those that pass are deleted at once.
fuzz: $(READY) oracle iceberg arctic ## Play N random histories of each kind of table from number SEED on against Java, Spark and Arctic, and cut down what fails
	$(if $(wildcard /dev/shm),PYTEST_DEBUG_TEMPROOT=/dev/shm) $(BIN)/pytest --quiet -n $(WORKERS) $(SHARING) --timeout 3600 -o tmp_path_retention_policy=failed tests/java/fuzz --histories $(N) --first $(SEED) --cut

bench: $(READY) oracle ## Compact the same table with Java Paimon and with Lithify, one core each; or large ones (--planning, --commits)
	$(BENCHMARK) against_java $(ARGS)

bench-operator: $(READY) cluster ## Run the operator with 10,000 tables and see how fast, how large and how quiet it is
	$(BENCHMARK) many_tables $(ARGS)

bench-start: $(READY) images ## Start drivers, plain and as the Spark image has them, and see what that saves
	$(BENCHMARK) driver_start $(ARGS)

docs: $(READY) ## Make the generated pages of docs/ anew
	$(BIN)/python -m lithify.formats.paimon.support.page > docs/support.md
	$(BIN)/python -m lithify.formats.iceberg.support.page > docs/support-iceberg.md
	$(BIN)/python -m lithify.controller.telemetry.page > docs/metrics.md

pictures: $(READY) cluster helm oracle classes ## Make the pictures of docs/ anew, of tables that are written to for minutes
	cd tests && $(CURDIR)/$(BIN)/python -m infrastructure.pictures $(ARGS)

chart: $(READY) helm ## Render the chart's snapshots anew, and copy its list of special addresses
	$(BIN)/python -m lithify.io.special_addresses > charts/lithify/files/special-addresses.json
	cd tests && $(CURDIR)/$(BIN)/python -m infrastructure.chart snapshots

crds: $(READY) ## Make the CustomResourceDefinitions of crds/ and of the chart anew from the models
	$(BIN)/python -m lithify.resources.crd

lock: ## Resolve the dependencies anew into uv.lock
	$(BIN)/uv lock

.PHONY: help demo setup check lint unit-data unit-others thorough computing on-a-node format oracle iceberg arctic classes cluster images bills helm objectstore hdfs test soak e2e fuzz bench bench-operator bench-start docs pictures chart crds lock
