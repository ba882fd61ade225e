# Two commands do everything: `make demo` and `make test`. Both set up .venv on their first run.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
BENCH_VENV := $(VENV)-bench
DOCS_VENV := $(VENV)-docs
BENCH ?= paper calibration full_bayes scale prediction annotators forecast stopping board_looks bound figure2 planning shared_replies selections style rank_speed carelessness collusion
RUNS ?= var/decide
LOAD ?=
PORT ?= 8000
SCREENSHOTS ?= var/screenshots
FRESH ?=
# Further options of pytest: `--lf`, `--ignore=...`, a path
BUT ?=
# Each file of tests runs in one process, in the order that tests/conftest.py gives. There is one process more than
# processors, because some tests wait for sites. `make test` runs its two lanes side by side for the same reason.
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN)
WORKERS ?= $(shell echo $$(($(PROCESSORS) + 1)))
SECOND_WORKERS ?= $(shell echo $$((($(PROCESSORS) + 1) / 2)))
TOGETHER ?= -n $(WORKERS) --dist loadfile --no-loadscope-reorder
SECOND_LANE := var/test-production.txt
KILLS ?= 100
MINUTES ?= 2

# Python's compiled modules are kept whatever the shell says: reading all tests anew takes half a minute a process.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo serve test test-embedded test-beside test-production quick journeys test-full durations check docs reference openapi messages bench bench-engine bench-full bench-console bench-forecast bench-endpoints bench-import bench-live bench-load bench-scorecards chaos lint-docker screenshots format lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.web-and-worker ## See Touchstone at work: a campaign that judges itself (PORT=8000, FRESH=1 begins again)
	@TOUCHSTONE_DATA_DIR=$${TOUCHSTONE_DATA_DIR:-var/demo} $(PY) manage.py demo --port $(PORT) $(if $(FRESH),--fresh)

serve: $(VENV)/.web-and-worker ## Serve the embedded form on this machine (PORT=8000)
	@$(PY) manage.py serve --port $(PORT)

test: $(VENV)/.kernels ## Run every test once on SQLite; beside it what depends on the database on PostgreSQL and Redis
	@begin=$$(date +%s); status=0; mkdir -p $(dir $(SECOND_LANE)); \
	echo "The production lane runs beside the embedded one; what it says follows below, and is in $(SECOND_LANE)."; \
	$(MAKE) --no-print-directory --keep-going -j 2 test-embedded test-beside || status=1; \
	cat $(SECOND_LANE); \
	total=$$(($$(date +%s) - begin)); echo "Time of make test: $$((total / 60)) min $$((total % 60)) s"; exit $$status

test-beside: $(VENV)/.kernels
	@$(MAKE) --no-print-directory test-production WORKERS=$(SECOND_WORKERS) >$(SECOND_LANE) 2>&1

test-embedded: $(VENV)/.kernels ## The first lane of make test (BUT="--lf" and other options are handed to pytest)
	TEST_LANE="the embedded lane" $(PY) -m pytest $(TOGETHER) $(BUT)

test-production: $(VENV)/.kernels ## The second lane: the tests marked `database`, on PostgreSQL and Redis
	TEST_FORM=production TEST_LANE="the production lane" $(PY) -m pytest $(TOGETHER) -m database $(BUT) tests/evalsite tests/attacks

quick: WORKERS = $(PROCESSORS)  # none of its tests waits for a site
quick: $(VENV)/.kernels ## Run the fast tests: about a minute (BUT="--lf" runs those that failed last)
	TEST_LANE="make quick" $(PY) -m pytest $(TOGETHER) -m quick $(BUT)

journeys: $(VENV)/.kernels ## Run whole sites from end to end
	TEST_LANE="the journeys" $(PY) -m pytest $(TOGETHER) $(BUT) tests/journey

test-full: $(VENV)/.kernels $(BENCH_VENV)/.bench ## Nightly: every test at length on both forms, SQL of one database only, mutations; hours
	@status=0; mkdir -p var; rm -f var/sql-*.txt; \
	TEST_FULL=1 TEST_SQL_REPORT=var/sql-embedded.txt TEST_LANE="the full embedded lane" $(PY) -m pytest -p tests.house.sql_templates $(TOGETHER) $(BUT) || status=1; \
	TEST_FULL=1 TEST_SQL_REPORT=var/sql-production.txt TEST_FORM=production TEST_LANE="the full production lane" \
	  $(PY) -m pytest -p tests.house.sql_templates $(TOGETHER) $(BUT) tests/evalsite || status=1; \
	$(PY) -m tests.house.sql_templates var/sql-embedded.txt var/sql-production.txt; \
	$(PY) -m tests.house.mutations || status=1; exit $$status

durations: $(VENV)/.kernels ## Measure every test's processor time anew and write tests/durations.csv, by which make quick is chosen
	rm -f var/durations.csv; mkdir -p var
	TEST_DURATIONS=var/durations.csv $(PY) -m pytest $(TOGETHER) -q
	mv var/durations.csv tests/durations.csv
	$(PY) -m tests.house.slow_tests

check: $(VENV)/.dev lint-docker ## Format, lint, types, fences, migrations, docker/: what CI looks at beside the tests
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) manage.py makemigrations --check --dry-run
	$(PY) -m tests.house.locks
	$(PY) -m tests.house.slow_tests
	$(PY) manage.py spectacular --validate --fail-on-warn | diff docs/openapi.yaml - || { echo "Run: make openapi"; exit 1; }

docs: $(DOCS_VENV)/.docs ## Build the documentation as a site into var/docs-site; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --quiet --strict --config-file docs/site/mkdocs.yml
	@echo "Built var/docs-site. To read it: python3 -m http.server --directory var/docs-site 8010"

reference: $(VENV)/.dev ## Write docs/commands.md anew from the parsers of the commands
	$(PY) -m tests.house.command_reference

openapi: $(VENV)/.dev ## Write docs/openapi.yaml anew from the code
	$(PY) manage.py spectacular --validate --fail-on-warn --file docs/openapi.yaml

messages: $(VENV)/.dev ## Gather what the pages say into frontend/locale, compile it, and name what has no translation
	$(PY) -m tests.house.messages

bench: $(BENCH_VENV)/.bench ## What choosing judgments saves: 3 sets, 5 seeds, under 20 minutes (EVAL_DATA_DIR for real votes)
	@failed=; for name in decide aims; do \
	  echo; echo "== $$name"; $(BENCH_VENV)/bin/python -m tests.benchmarks.$$name || failed="$$failed $$name"; \
	done; [ -z "$$failed" ] || { echo; echo "Failed:$$failed"; exit 1; }

bench-engine: $(BENCH_VENV)/.bench ## The engine and the scheduler against their targets: hours (BENCH="paper scale" for some of it)
	@failed=; for name in $(BENCH); do \
	  echo; echo "== $$name"; $(BENCH_VENV)/bin/python -m tests.benchmarks.$$name || failed="$$failed $$name"; \
	done; [ -z "$$failed" ] || { echo; echo "Failed:$$failed"; exit 1; }

bench-console: $(VENV)/.dev ## Time every page of the console at 200 chatbots, 5,000 prompts, 500 annotators, 200,000 judgments
	$(PY) -m tests.benchmarks.console_size

bench-forecast: $(VENV)/.dev ## Whether what the console's form forecasts holds what the service's own campaigns take: half an hour
	$(PY) -m tests.benchmarks.forecast_shown

bench-endpoints: $(VENV)/.dev ## Collect 10,000 replies from 10 endpoints with 50 ms latency: under a minute; and a good one beside hostile ones
	$(PY) -m tests.benchmarks.collect_replies
	$(PY) -m tests.benchmarks.hostile_endpoints

bench-live: $(VENV)/.dev ## 50 people who chat at once on both forms, and kills of web, caller and worker: about 20 minutes
	$(PY) -m tests.benchmarks.live $(LOAD)

bench-import: $(VENV)/.dev ## Import a million votes into PostgreSQL (TEST_DATABASE_URL), and read them as rank does: minutes
	$(PY) -m tests.benchmarks.import_votes

bench-scorecards: $(VENV)/.dev ## Scorecards against published figures, coverage, 100,000 conversations: half an hour (EVAL_DATA_DIR for the data)
	@failed=; for name in scorecards scorecard_coverage conversation_import; do \
	  echo; echo "== $$name"; DJANGO_SETTINGS_MODULE=evalsite.settings $(PY) -m tests.benchmarks.$$name || failed="$$failed $$name"; \
	done; [ -z "$$failed" ] || { echo; echo "Failed:$$failed"; exit 1; }

chaos: $(VENV)/.dev ## Hurt whole sites for long and print what they survived (KILLS=100; MINUTES=2 of each other fault)
	CI=true TEST_FULL=1 CHAOS_KILLS=$(KILLS) CHAOS_MINUTES=$(MINUTES) CHAOS_AWAY_S=60 $(PY) -m pytest tests/faults -q

bench-load: $(VENV)/.dev ## Measure what a site serves while refits go on, and how soon a board opens: half an hour (LOAD="--seconds 60 --million")
	@failed=; $(PY) -m tests.benchmarks.load $(LOAD) || failed=1; \
	echo; $(PY) -m tests.benchmarks.first_byte || failed=1; [ -z "$$failed" ]

bench-full: $(BENCH_VENV)/.bench ## Votes to decide and to estimate: every set, policy and 20 seeds; days, goes on where it was (RUNS=folder)
	@$(BENCH_VENV)/bin/python -m tests.benchmarks.decide --full --runs $(RUNS)

screenshots: $(VENV)/.dev ## Picture every page and state, wide and narrow, light and dark (SCREENSHOTS=folder; needs Chromium)
	$(PY) -m tests.browser.screenshots $(SCREENSHOTS)

lint-docker: $(VENV)/.dev ## Look over docker/ with hadolint and check-jsonschema (a part of `make check`)
	$(VENV)/bin/hadolint docker/Dockerfile
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.compose-spec docker/compose.yml

format: $(VENV)/.dev ## Format the code and mend what can be mended by itself
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

lock: $(VENV)/.dev ## Compile requirements/*.in into lock files with hashes
	@for name in dev base web worker full tracing; do \
	  constraint=$$([ $$name = dev ] || echo "-c requirements/dev.txt"); \
	  $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	    --no-annotate $$constraint requirements/$$name.in -o requirements/$$name.txt || exit 1; \
	done
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-annotate requirements/bench.in -o requirements/bench.txt
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-annotate requirements/docs.in -o requirements/docs.txt

clean: ## Remove what these commands made
	rm -rf $(VENV) $(BENCH_VENV) $(DOCS_VENV) var

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Touchstone needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "This Python has no venv. On Debian or Ubuntu: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.web-and-worker: requirements/web.txt requirements/full.txt | $(VENV)/bin/python
	@echo "Installing the locked requirements (once; about a minute) ..."
	@[ $(VENV)/.dev -nt requirements/web.txt -a $(VENV)/.dev -nt requirements/full.txt ] || $(PY) -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes -r requirements/web.txt -r requirements/full.txt
	@touch $@

$(VENV)/.dev: requirements/dev.txt | $(VENV)/bin/python
	@echo "Installing the locked requirements (once; about two minutes) ..."
	@$(PY) -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

# Compiled once for an environment, since all processes of tests and of sites share what is compiled.
$(VENV)/.kernels: $(VENV)/.dev $(wildcard irt_engine/*.py irt_engine/*/*.py irt_engine/*/*/*.py scheduler/*.py scheduler/*/*.py)
	@$(PY) -m scheduler.warmup
	@touch $@

$(BENCH_VENV)/.bench: requirements/bench.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "The benchmarks need Python 3.11 or newer."; exit 1; }
	@echo "Installing the benchmarks' locked requirements (once; about two minutes) ..."
	@[ -x $(BENCH_VENV)/bin/python ] || $(PYTHON) -m venv $(BENCH_VENV)
	@$(BENCH_VENV)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes -r requirements/bench.txt
	@touch $@

$(DOCS_VENV)/.docs: requirements/docs.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "The documentation needs Python 3.11 or newer."; exit 1; }
	@echo "Installing the documentation's locked requirements (once; under a minute) ..."
	@[ -x $(DOCS_VENV)/bin/python ] || $(PYTHON) -m venv $(DOCS_VENV)
	@$(DOCS_VENV)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --require-hashes -r requirements/docs.txt
	@touch $@
