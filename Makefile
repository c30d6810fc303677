# Everything a developer or CI needs, one word each. Every target sets up the environment it needs.

PYTHON ?= python3
VENV ?= .venv
VENV_TORCH ?= .venv-torch
PORT ?= 8000
SIZES ?= 100000
BIN := $(VENV)/bin
PINAKES := $(BIN)/pinakes --home .pinakes --set collection=pinakes
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
INSTALLED_TORCH := $(VENV_TORCH)/.installed

# Tests start this program hundreds of times: its modules are compiled once. Its output is buffered, as it is for users.
unexport PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED

.PHONY: run test test-postgres test-qdrant test-torch check graph bench bench-scale eval format clean

run: $(INSTALLED)  ## index this project's own documents, answer three questions, serve
	@echo "Reading this project's own documents and source. Stop with Ctrl+C; run again to go on."
	$(PINAKES) model install
	$(PINAKES) add . --include '*.md' --include 'src/**'
	$(PINAKES) search -k 2 "is anything lost when it crashes?"
	$(PINAKES) search -k 2 "how do I connect an AI agent?"
	$(PINAKES) search -k 2 "where are keyword and vector scores combined?"
	@echo "This home is .pinakes; a bare pinakes asks ~/.pinakes. In another terminal: $(BIN)/pinakes --home .pinakes search 'your question'"
	$(PINAKES) serve --port $(PORT)

ON_POSTGRES = $(addprefix tests/integration/, test_ingest.py test_search.py test_searching_several.py test_phrases.py \
	test_jobs.py test_documents_life.py serve/test_access.py)

# Not --dist loadgroup: with that, xdist waits for ever once a worker has died, as one does whose test hangs.
test: $(INSTALLED_DEV)  ## all tests, and those of ON_POSTGRES once more with their catalogues in PostgreSQL
	$(BIN)/pytest -n 3 --dist worksteal
	$(BIN)/pytest -n 3 --dist worksteal -p on_postgres $(ON_POSTGRES)

test-torch: $(INSTALLED_TORCH)  ## the tests that need the extra torch, which takes gigabytes
	$(VENV_TORCH)/bin/pytest tests/integration/test_torch.py

test-postgres: $(INSTALLED_DEV)  ## the tests of the catalogue on another PostgreSQL: make test-postgres PGURL=postgresql://USER@HOST/postgres
	PGURL=$(PGURL) $(BIN)/pytest tests/unit/catalog tests/integration/postgres

test-qdrant: $(INSTALLED_DEV)  ## the tests that need a Qdrant server: make test-qdrant QDRANT_URL=http://127.0.0.1:6333
	QDRANT_URL=$(QDRANT_URL) $(BIN)/pytest -m server

check: $(INSTALLED_DEV)  ## style, types and the contracts of imports
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

graph: $(INSTALLED_DEV)  ## docs/imports.md, made anew
	$(BIN)/python tests/shared/import_graph.py

bench: $(INSTALLED_DEV)  ## speed and memory, as a table and as JSON
	$(BIN)/python -m benchmarks.speed

bench-scale: $(INSTALLED_DEV)  ## what large collections cost: make bench-scale SIZES=100000,1100000 (chunks, about)
	$(BIN)/python -m benchmarks.scale --sizes $(SIZES)

eval: $(INSTALLED_DEV)  ## quality on the golden sets
	$(BIN)/python -m benchmarks.quality --kinds
	$(BIN)/python -m benchmarks.quality.graph_entities --kinds --ablation

format: $(INSTALLED_DEV)
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks

clean:
	rm -rf $(VENV) $(VENV_TORCH) .pinakes .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python $(VENV_TORCH)/bin/python:
	$(PYTHON) -m venv $(@D:/bin=)

$(INSTALLED): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	touch $@

$(INSTALLED_DEV): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@ $(INSTALLED)

$(INSTALLED_TORCH): pyproject.toml constraints.txt | $(VENV_TORCH)/bin/python
	$(VENV_TORCH)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,torch]'
	touch $@
