# Two commands are all that is needed: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
endif
PY := $(BIN)/python
PORT ?= 8000
HOST ?= 127.0.0.1
# What `make test-postgres` runs: everything that stores.
STORED ?= tests/contracts tests/memory tests/botrunner tests/site tests/flows

.PHONY: run demo install install-dev test test-postgres check format lock screenshots clean

run: install ## fresh machine to a running product
	$(PY) manage.py up --host $(HOST) --port $(PORT)

demo: install ## the same, with a sample community to look at
	$(PY) manage.py migrate --verbosity 0
	$(PY) manage.py sample_community
	$(PY) manage.py up --host $(HOST) --port $(PORT)

install: $(VENV)/.installed ## environment and dependencies

$(VENV)/.installed: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Musebot needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Set PYTHON=/path/to/python3.11.")'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.txt
	@touch $@

install-dev: install $(VENV)/.installed-dev

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-dev.txt
	@touch $@

test: install-dev ## the whole test suite
	$(PY) -m pytest -n 2 --dist loadfile $(ARGS)

test-postgres: install-dev ## what stores, a second time on PostgreSQL and Redis (needs redis-server)
	$(PY) -m tests.servers $(PY) -m pytest -n 2 --dist loadfile $(STORED) $(ARGS)

check: install-dev ## lint, format, types, layers, migrations and documentation in step
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(BIN)/lint-imports
	$(PY) manage.py makemigrations --check --dry-run --settings tests.settings
	$(PY) -m pytest tests/architecture

format: install-dev
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

lock: ## resolve the dependencies anew
	$(PYTHON) -m pip install --quiet --disable-pip-version-check uv
	$(PYTHON) -m uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet pyproject.toml -o requirements.txt
	$(PYTHON) -m uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet --group dev -c requirements.txt pyproject.toml -o requirements-dev.txt

screenshots: install-dev ## the pictures of the README
	$(PY) -m tests.screenshots

clean:
	rm -rf $(VENV) staticfiles
