# Everything here does its own set-up; `make` alone lists what there is.
# In CI and before a merge: bash .ci/run

PYTEST = .venv/bin/pytest
# Workers for the tests; a stand-in host is three processes, so more than this gains nothing.
WORKERS ?= auto --maxprocesses=8

.DEFAULT_GOAL = help
.PHONY: help venv rehearsal test slow faults speed matrix matrix-full lint format types imports wheel pythons bundle browser docs sample engines tree realhost clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

venv: ## .venv with this project and its tools in it
	@setup/venv.sh

rehearsal: venv ## the acceptance run against the embedded stand-in host
	$(PYTEST) --host=rehearsal suites/

test: venv ## the project's own tests: no root, no engine, no network
	$(PYTEST) -q -m "not realhost and not slow and not browser and not matrix" -n $(WORKERS)

slow: venv ## the tests that take seconds each
	$(PYTEST) -q -m "slow and not realhost and not browser and not matrix" -n $(WORKERS)

# The folder is named, so that the one who shares out the tests loads its conftest and prints the counts.
faults: venv ## every fault is noticed, every odd host is accepted; counts last
	$(PYTEST) -q -m "matrix and not alone" -n $(WORKERS) tests/faults

# Each waits for a clock for nine tenths of its time: two at a time leave each other alone, and nothing else runs beside.
speed: venv ## the same for faults of speed: beside what measures nothing else runs
	$(PYTEST) -q -m "matrix and alone" -n 2

matrix: faults speed ## both

matrix-full: venv ## the same with each odd host by itself, and docs/faults.md written anew
	DFLASH_MATRIX=full $(PYTEST) -q -m "matrix and not alone" -n $(WORKERS) tests/faults
	DFLASH_MATRIX=full $(PYTEST) -q -m "matrix and alone" tests/faults || [ $$? -eq 5 ]

lint: venv ## ruff: rules and format
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

format: venv ## ruff: mend what can be mended
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

types: venv ## mypy, strict
	.venv/bin/mypy

imports: venv ## the layers of ARCHITECTURE.md
	.venv/bin/lint-imports

wheel: venv ## sdist, wheel and bundle, tested away from the source tree
	setup/wheel.sh

pythons: venv ## the wheel on each further Python that is here, with the oldest pytest and the newest
	setup/pythons.sh

bundle: venv ## one tar of wheels in dist/, for sites without a package index
	setup/bundle.sh

docs: venv ## the documentation site, into site/: strict, links checked
	setup/docs.sh

sample: venv ## the report that the docs show, and its picture in the README, recorded anew (apt: chromium chromium-driver)
	.venv/bin/python setup/record_sample.py

engines: venv ## a real SGLang, vLLM and llama.cpp on the CPU, into the cache (3.7 GB, four minutes)
	tests/realhost/engines/make.sh
	tests/realhost/engines/llamacpp/make.sh

browser: venv ## report.html in a real Chromium (apt: chromium chromium-driver)
	DFLASH_BROWSER=required $(PYTEST) -q -m browser

tree: venv ## the Debian tree of the real host, into the cache (root, half a minute)
	.venv/bin/python -m tests.realhost.tree

realhost: venv engines ## the tests on a real systemd host (root; systemd-container mmdebstrap openssh-client)
	DFLASH_REALHOST=required $(PYTEST) -q -m realhost

clean: ## what the tools left in this folder, .venv too; the cache stays
	rm -rf .venv build dist site reports/*_* reports/latest *.egg-info .[a-z]*_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
