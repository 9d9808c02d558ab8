# Every verb first sets up what it needs: a virtual environment from the lock, and for tests the
# npm packages of tests/node. Stamp files make a second run free of cost.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
NODE_HOME := tests/node
# Debian packages. Sandboxes are made with bubblewrap; without it what wants one does not run.
SANDBOX_PACKAGES := bubblewrap
# What else tests use: the Switchyard example runs a real PostgreSQL, the vault a real keychain,
# hosts a real terminal, the judge of a team networks of its own. systemd checks the units of `deploy`.
APT_PACKAGES := postgresql mariadb-server-core mariadb-client nginx-light iproute2 faketime systemd redis-server puma gnome-keyring dbus tmux chromium $(SANDBOX_PACKAGES)
# Tests wait for processes more than they compute: three on two cores.
PYTEST_WORDS := -n 3 --dist loadgroup
# One test in five is measured there, which reaches less than all of them.
SAMPLE_FLOOR := 82
PYTEST := $(PY) -m pytest $(PYTEST_WORDS)
# Their tests start programs for nearly all that they look at.
SLOW_TESTS := agents bridge browser cli conformance daemon e2e egress engines find gate judge procs runs sandbox switchyard team upgrade
PIP := $(PY) -m pip --disable-pip-version-check install --quiet
# A lock names everything. Without `--no-deps` pip would look for what an extra asks for, and find a
# version that came out since.
LOCKED := --no-deps --require-hashes

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test check fix lint types bench soak browser fuzz conformance requirements coverage relayed schemas picture lock apt clean

help: ## Show the verbs.
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.runtime ## Show Switchboard at work on the embedded example; Ctrl-C stops it.
	@tools/apt-install $(SANDBOX_PACKAGES)
	@$(PY) examples/run.py

test: apt lint types $(NODE_HOME)/node_modules/.stamp ## Lint, check types, run every test, sum up requirements and coverage.
	@rm -rf .run/coverage && mkdir -p .run/coverage
	PYTHONPATH=tests $(PY) -m support.whole_run $(PYTEST_WORDS)
	@$(PY) -m coverage combine --quiet
	@PYTHONPATH=tests $(PY) -m support.coverage_table $(SAMPLE_FLOOR)

check: lint types ## The quick part of `test`: without engines, sandboxes, daemons and commands.
	$(PYTEST) $(SLOW_TESTS:%=--ignore=tests/%)

fix: $(VENV)/.dev ## Mend what the tools can mend: imports, format, simple lint.
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

lint: $(VENV)/.dev ## Check format and lint.
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .

types: $(VENV)/.dev ## Check types, strictly, for both systems.
	@# It fetches itself when it first runs. Then side by side, as each has work for one core alone.
	@$(PY) -m pyright --version >/dev/null
	$(PY) -m pyright --pythonplatform Darwin src & other=$$!; $(PY) -m pyright; code=$$?; wait $$other && exit $$code

bench: $(VENV)/.dev $(NODE_HOME)/node_modules/.stamp ## Measure against the peers; takes minutes.
	$(PY) bench/run.py

soak: $(VENV)/.dev $(NODE_HOME)/node_modules/.stamp ## Run the tests that take minutes.
	$(PYTEST) -m soak

browser: $(VENV)/.dev $(NODE_HOME)/browser/node_modules/.stamp ## Run servers that start a browser, confined, with Debian's Chromium.
	@tools/apt-install chromium $(SANDBOX_PACKAGES)
	$(PYTEST) -m browser

fuzz: $(VENV)/.fuzz ## Look for inputs that break our readers, ten minutes each; FUZZ="--seconds 60 frames" for less.
	$(PY) fuzz/run.py $(FUZZ)

conformance: $(VENV)/.dev $(NODE_HOME)/node_modules/.stamp ## Let the official conformance suite judge; prints its table.
	@PYTHONPATH=tests $(PY) -m conformance.run

requirements: $(VENV)/.dev ## Say which requirements have a passing test in the last run, and which have none.
	@PYTHONPATH=tests $(PY) -m support.requirements_record

coverage: $(VENV)/.dev $(NODE_HOME)/node_modules/.stamp ## Measure every test, and show the lines and branches that none reaches; takes twice as long.
	@rm -rf .run/coverage && mkdir -p .run/coverage
	MEASURE_EVERY_TEST=1 PYTHONPATH=tests $(PY) -m support.whole_run $(PYTEST_WORDS)
	@$(PY) -m coverage combine --quiet
	@PYTHONPATH=tests $(PY) -m support.coverage_table
	@$(PY) -m coverage report --skip-covered --show-missing

relayed: $(VENV)/.dev ## Write the table of docs/relay.md from the tests that passed in the last run.
	@PYTHONPATH=tests $(PY) -m conformance.table

schemas: $(VENV)/.dev ## Write the JSON Schemas of every file, and the table of keys, anew.
	$(PY) -m switchboard.settings.docs.schemas schemas
	$(PY) -m switchboard.settings.docs.reference docs/configuration.md
	$(PY) -m switchboard.providers.agents.documentation docs/agents.md
	$(PY) -m switchboard.cli.verbs.parts.report_schemas schemas/reports
	$(PY) tools/reference.py

picture: $(VENV)/.dev $(NODE_HOME)/node_modules/.stamp ## Draw the picture of the README anew, and those of the page, from a real run.
	$(PY) tools/picture.py
	$(PY) tools/page_pictures.py

lock: ## Resolve the locks anew from pyproject.toml.
	$(PYTHON) -m venv .run/lock
	.run/lock/bin/pip --disable-pip-version-check install --quiet uv
	.run/lock/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header \
		--universal --python-version 3.11 pyproject.toml --output-file requirements.lock
	.run/lock/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header \
		--universal --python-version 3.11 --group dev --constraint requirements.lock \
		pyproject.toml --output-file requirements-dev.lock
	.run/lock/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header \
		--universal --python-version 3.11 --group fuzz --no-annotate \
		--output-file requirements-fuzz.lock
	cd $(NODE_HOME) && npm install --package-lock-only --ignore-scripts

apt: ## Install the Debian packages that tests use, where that is allowed.
	@tools/apt-install $(APT_PACKAGES)

clean: ## Remove everything that the verbs made.
	rm -rf $(VENV) $(NODE_HOME)/node_modules $(NODE_HOME)/browser/node_modules .run .pytest_cache .ruff_cache .hypothesis dist build
	find src tests examples bench -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	@tools/need-python $(PYTHON)
	$(PYTHON) -m venv $(VENV)

$(VENV)/.package: pyproject.toml | $(PY)
	$(PIP) --no-deps --editable .
	@# An editable install has no byte code yet, and some shells forbid Python to keep it.
	@$(PY) -m compileall -q src
	@touch $@

$(VENV)/.runtime: requirements.lock $(VENV)/.package | $(PY)
	$(PIP) $(LOCKED) -r requirements.lock
	@touch $@

$(VENV)/.dev: requirements-dev.lock requirements.lock $(VENV)/.package | $(PY)
	$(PIP) $(LOCKED) -r requirements-dev.lock
	@touch $(VENV)/.runtime $@

$(VENV)/.fuzz: requirements-fuzz.lock $(VENV)/.runtime | $(PY)
	$(PIP) $(LOCKED) -r requirements-fuzz.lock
	@touch $@

$(NODE_HOME)/node_modules/.stamp: $(NODE_HOME)/package.json $(NODE_HOME)/package-lock.json
	@tools/need-node
	cd $(NODE_HOME) && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

$(NODE_HOME)/browser/node_modules/.stamp: $(NODE_HOME)/browser/package.json $(NODE_HOME)/browser/package-lock.json
	@tools/need-node
	cd $(NODE_HOME)/browser && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@
