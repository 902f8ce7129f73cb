# Two commands for a newcomer: `make demo` and `make test`. `make help` lists the rest.
PYTHON ?= python3
BIN := .venv/bin
# The name holds the place: a virtual environment does not survive a move of its folder.
READY := .venv/.ready-$(shell pwd -P | cksum | cut -d" " -f1)
SOURCES := skillkeep rules auditor vault ingest runner dispatch
# One worker a core, whole files together: a file's tests share what they set up.
TEST_ARGS ?= -n auto --dist loadfile
ARGS ?=
SOURCE ?=

.PHONY: help setup demo test test-vm lint format bench score fuzz docs transcript lock clean

help: ## what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

setup: $(READY) ## make .venv with the product, its extras and the development tools (quick when up to date)

$(READY): pyproject.toml requirements/dev.txt scripts/setup.sh
	@sh scripts/setup.sh "$(PYTHON)" "$(READY)"

demo: setup ## fetch, audit, vault and run real skills; SOURCE=<git-url> does it for a repository of yours
	@SOURCE='$(subst ','\'',$(SOURCE))' $(BIN)/python demo/run.py

test: setup ## the whole suite, offline; ARGS="-k name" passes options on
	@$(BIN)/python -m pytest $(TEST_ARGS) $(ARGS)

test-vm: setup ## the sandbox's tests on cgroup v2 and systemd, in an emulated Debian (an hour); ARGS="--who person"
	@$(BIN)/python scripts/vm/run.py $(ARGS)

lint: setup ## ruff, formatting, mypy --strict, shell syntax
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python scripts/typing_tree.py
	@$(BIN)/mypy -p skillkeep
	@for file in .ci/* scripts/*.sh scripts/vm/*.sh; do bash -n "$$file" || exit 1; done

format: setup ## rewrite our files the way `lint` wants them
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: setup ## every benchmark, each against a peer or the bare machine in the same run
	@for file in benchmarks/[a-z]*.py; do echo "== $$file"; $(BIN)/python "$$file" $(ARGS) || exit 1; done

score: setup ## detection quality on labelled samples; ARGS="--own" for those in this repository, "--mutate", "--collections"
	@$(BIN)/python benchmarks/score.py $(ARGS)

fuzz: setup ## every reader of untrusted input under atheris; ARGS="--seconds 600 --target zip", --list names them
	@$(BIN)/python fuzz/run.py $(ARGS)

docs: setup ## write the generated parts again: docs/errors.md, the report's schema, help blocks of README.md
	@$(BIN)/python scripts/generate_docs.py

transcript: setup ## put a fresh run of the demo into README.md
	@$(BIN)/python scripts/transcript.py

lock: ## resolve requirements/dev.txt afresh in a temporary environment
	@sh scripts/lock.sh "$(PYTHON)"

clean: ## remove everything that make and the tests have made
	@rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .ci-state
	@find $(SOURCES) tests benchmarks scripts demo -name __pycache__ -type d -prune -exec rm -rf {} +
