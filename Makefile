# Two commands do everything: `make run` and `make test`. Both set up .venv first when something changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
READY_SPARK := $(VENV)/.ready-spark
NODE_TESTS := tests/interop/node
JAVA_TESTS := tests/interop/java
CONFIG ?=
ROUNDS ?= 300
# Processes that run tests: most tests wait for other processes rather than compute. One of them has all tests with Spark.
TESTERS ?= 4

SOAK_MINUTES ?= 30
SAMPLES ?= 100000000
# Of fuzzing.
MINUTES ?= 5

# Rooms whose coverage is measured by their own tests, all of which run in one process; COVERED=tests/ROOM measures others.
COVERED ?= $(addprefix tests/,amqp broker common log mapping mqtt objects)
COVERAGE := $(BIN)/coverage

.PHONY: run test coverage test-spark lint format docs bench bench-scores bench-flows bench-spark node-red soak faults fuzz clean help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: $(READY_SPARK) ## set up, then run the telemetry example: server, devices, Spark (CONFIG=file.toml: your own server instead)
	@$(if $(CONFIG),$(BIN)/helio serve --config $(CONFIG),$(BIN)/python examples/telemetry/run.py)

test: lint docs node-clients java-clients ## set up, then lint, types, documentation and all tests but those of test-spark
	$(BIN)/python -m pytest -n $(TESTERS) -m "not spark"

coverage: $(READY_DEV) ## branch coverage of codecs, mapping, log and broker; fails where it is below the floor in pyproject.toml
	@rm -f .coverage .coverage.*
	$(COVERAGE) run -m pytest -q -n $(TESTERS) -m "not spark and not spark_session" --hypothesis-profile=few-examples $(COVERED)
	@$(COVERAGE) combine -q && $(COVERAGE) json -q -o .coverage.json
	@$(BIN)/python tests/room_coverage.py .coverage.json

test-spark: $(READY_DEV) ## the long tests with Spark: kills, clusters, pipelines of a server, the example
	$(BIN)/python -m pytest -m spark tests/pipeline tests/lab/spark tests/faults tests/documents

lint: $(READY_DEV) ## ruff, mypy strict, import rules
	$(BIN)/ruff check src tests docs/site_hooks.py
	$(BIN)/ruff format --check src tests docs/site_hooks.py
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY_DEV) ## rewrite the code in the project's format
	$(BIN)/ruff check --fix src tests docs/site_hooks.py
	$(BIN)/ruff format src tests docs/site_hooks.py

docs: $(READY_DEV) ## build the documentation site in build/site; dead links and missing anchors fail
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: bench-scores ## measure this server beside its peers (BENCH="--quick" for a short look), and the scoring of runs
	$(BIN)/helio bench $(BENCH)

bench-scores: $(READY_DEV) ## measure how fast Spark scores runs, on 100 million samples (SAMPLES=100000000)
	$(BIN)/helio bench scores --samples $(SAMPLES)

bench-flows: $(READY_DEV) ## measure message flows beside published figures (BENCH="--quick" for a short look)
	$(BIN)/helio bench flows $(BENCH)

bench-spark: $(READY_DEV) ## measure pipelines on Spark (BENCH="--quick" for a short look)
	$(BIN)/helio bench spark $(BENCH)

node-red: $(READY_DEV) ## install Node-RED, which flows can be compared with (make bench-flows BENCH="--target node-red")
	npm install --no-audit --no-fund --silent --no-package-lock --prefix $(VENV)/node-red node-red@4

soak: $(READY_DEV) ## run the server under steady durable load; fails if memory or disk grow (SOAK_MINUTES=30)
	$(BIN)/helio soak --minutes $(SOAK_MINUTES)

faults: $(READY_DEV) ## kill the server hundreds of times under load; nothing may be lost (ROUNDS=300, FAULTS="--load queues"; --load pipelines kills Spark too)
	PYTHONPATH=tests $(BIN)/python -m faults --rounds $(ROUNDS) $(FAULTS)

# Without atheris, which is not there for every Python, it goes on without coverage.
fuzz: $(READY_DEV) ## damaged packets, frames, requests, texts and files for all that reads them (MINUTES=5, FUZZ="--target mqtt"); fails if something breaks
	@$(BIN)/python -c 'import atheris' 2>/dev/null || \
	  $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt 'atheris>=3' || true
	PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(MINUTES) $(FUZZ)

clean: ## remove everything that the other targets made
	rm -rf $(VENV) $(NODE_TESTS)/node_modules $(JAVA_TESTS)/target .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "heliograph needs Python 3.11 or newer; set PYTHON=... to name one"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(READY): $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[flow,lab,spark]'
	@touch $@

$(READY_DEV): $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[flow,lab,spark,docs,dev]'
	@touch $@ $(READY)

# Spark's classes in an archive, so that each session starts in half the time.
$(READY_SPARK): $(READY)
	@$(BIN)/helio pipeline setup
	@touch $@

# The Node clients of the interop tests; without Node those tests say how to get it.
.PHONY: node-clients
node-clients:
	@if command -v npm >/dev/null; then \
	  [ $(NODE_TESTS)/node_modules/.package-lock.json -nt $(NODE_TESTS)/package.json ] || (cd $(NODE_TESTS) && npm install --no-package-lock --no-audit --no-fund --silent); \
	else echo "npm is not installed: the tests with Node clients will be skipped (install Node.js 18 or newer)"; fi

# Qpid JMS and the tests with it; without Java and Maven those tests say how to get them.
.PHONY: java-clients
java-clients:
	@if command -v mvn >/dev/null && command -v javac >/dev/null; then \
	  [ -n "$$(find $(JAVA_TESTS)/target/classpath -newer $(JAVA_TESTS)/pom.xml 2>/dev/null)" ] && \
	  [ -z "$$(find $(JAVA_TESTS)/src -newer $(JAVA_TESTS)/target/classpath)" ] || \
	  mvn -q -B -f $(JAVA_TESTS)/pom.xml compile dependency:build-classpath -Dmdep.outputFile=target/classpath; \
	else echo "Java or Maven is not installed: the tests with Qpid JMS will be skipped (on Debian: default-jdk-headless, maven)"; fi
