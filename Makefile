# `make demo` and `make test` do all the set-up themselves and can be run again; `make help` lists the rest.

SITE ?= ncsa-delta
SEED ?= 20261125
EACH ?= 40
BIN := .venv/bin
PYTEST := $(BIN)/pytest -q
FRONT := submit_filter/front
ARCH ?= $(shell uname -m)

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# Small matrices only: threads of OpenBLAS would wait for each other on a busy machine.
export OPENBLAS_NUM_THREADS ?= 1
.PHONY: help demo records test lab packages venv front lint format cases docs docs-site corpus bench bench-heavy clean setup lock shapes tagger deb rpm native-tree try-packages wheelhouse \
	callers-venv miniapps-venv

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+[^:]*:.*## / { line = sprintf("make %-19s", $$1); count = split($$2, word, " "); \
		for (at = 1; at <= count; at++) { \
			if (length(line word[at]) > 78) { print line; line = sprintf("%24s", "") } \
			line = line " " word[at] } \
		print line }' Makefile

demo: setup ## a broken job on a lab cluster, first bare, then through Maple
	@$(BIN)/python tests/lab/demo.py

test: setup callers-venv miniapps-venv ## every test
	@PYTEST="$(PYTEST)" tests/parts.sh

lab: setup ## a shell on a lab cluster in the shape of a site: make lab SITE=ncsa-delta; MAPLE=1: with Maple in front
	@$(if $(filter 1,$(MAPLE)),env -u MAPLE) $(BIN)/python tests/lab/shell.py --site $(SITE) $(if $(filter 1,$(MAPLE)),--maple)

setup: packages venv front

packages: ## the Debian packages that are missing
	@packaging/setup/packages.sh

venv: ## .venv with every command in .venv/bin
	@packaging/setup/venv.sh

lock: ## the packages that installing takes, with versions and hashes, anew: packaging/setup/*.lock
	@packaging/setup/lock.sh

shapes: ## the shapes of secrets that detect-secrets knows, anew: agents/maple_agents/base/secrets/shapes/
	@python3 -m venv build/shapes-venv && build/shapes-venv/bin/python -m pip install --quiet detect-secrets
	@build/shapes-venv/bin/python packaging/setup/shapes.py agents/maple_agents/base/secrets/shapes

callers-venv: venv ## the tools that submit for their users (submitit, Parsl, Snakemake ...), for their tests
	@tests/callers/venv.sh

miniapps-venv: venv ## torch for processors, accelerate and deepspeed, for the mini-apps' tests (about a gigabyte)
	@tests/miniapps/venv.sh

wheelhouse: venv ## dist/wheelhouse: the wheel and all it needs, for hosts without a network (Python 3.11 to 3.13)
	@packaging/setup/wheelhouse.sh dist/wheelhouse

deb rpm: native-tree ## dist/maple-hpc of this version for this machine's kind (ARCH=aarch64: for that one), with all it needs
	@MAPLE_TREE_IS_MADE=1 packaging/native/build.sh $@ $(ARCH)

native-tree: venv
	@rm -rf build/native/$(ARCH) && packaging/native/tree.sh $(ARCH) build/native/$(ARCH)

try-packages: deb rpm callers-venv ## all that is installed, whole: deb and rpm in roots of Debian 12 and 13, wheels by each Python, EasyBuild (as root; a quarter of an hour)
	@packaging/native/roots.sh build/roots
	@MAPLE_TEST_ROOTS=$(CURDIR)/build/roots MAPLE_TEST_WHOLE=1 $(PYTEST) tests/packaging/test_native_packages.py \
		tests/packaging/test_wheelhouse.py tests/packaging/test_recipes.py tests/packaging/test_role_service.py tests/packaging/test_spack.py

front: ## the C program that stands in for sbatch
	@if [ -f $(FRONT)/Makefile ]; then $(MAKE) -s -C $(FRONT); fi

lint: venv ## ruff, mypy, and the oldest Python that the submit path runs on
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/vermin -q -t=3.9- --no-tips --violations submit_filter/maple_submit_filter

format: venv ## ruff's fixes and layout
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

cases: venv ## only the tests whose cases are files
	@$(PYTEST) -k case

docs: venv ## man pages, completions, lists of modules, schemas and the front's tables, from what they are made of
	@$(BIN)/python packaging/man/write.py
	@$(BIN)/python packaging/docs/modules.py
	@$(BIN)/python packaging/docs/headers.py
	@$(BIN)/python packaging/docs/shapes.py

docs-site: venv ## the documentation as a site that needs no network: docs/site/index.html
	@packaging/docs/site.sh

corpus: venv ## all blind sets as files of JSON lines with card and scorer, for other tools: dist/maple-corpus-VERSION
	@$(BIN)/python packaging/corpus/build.py

tagger: venv ## the second reader of requests, trained anew by made-up requests (minutes): its weights
	@$(BIN)/python -m tests.tagger.train

bench-tagger: setup ## of labelled requests, how much grammar and tagger read, each alone and both
	@$(BIN)/python -m tests.tagger.measure

bench: setup ## every budget against the bare command; make bench-NAME for one
	@$(PYTEST) -s -p no:cacheprovider -o python_files='bench_*.py' --benchmark-disable-gc --ignore=tests/bench/bench_lab_diagnosis.py tests

bench-verify bench-miniapps bench-retrieval bench-new bench-documents bench-progress: miniapps-venv

bench-567: setup ## 567 requests for a script, each result run in a lab (half an hour)
	@$(BIN)/python -m tests.new567

records: setup ## run every paradigm on the lab of every site, and write templates/verified/
	@$(BIN)/python -m tests.new567.record

bench-diagnosis: setup ## how often a diagnosis is right, class by class, on logs with known causes
	@$(PYTEST) -s -p no:cacheprovider -o python_files='bench_*.py' tests/bench/bench_diagnosis.py

bench-blind-logs: setup ## the same on logs that were labelled without sight of Maple, with their dates
	@$(BIN)/python -m tests.agents.debug.blind_logs --left-out

bench-blind-requests: setup ## what becomes of requests that were labelled without sight of Maple, with their dates
	@$(BIN)/python -m tests.agents.extraction.blind_requests

bench-rewrites: setup ## labelled requests written otherwise, and with other values: right, asked, silently wrong, by rewrite (seeded)
	@$(BIN)/python -m tests.agents.extraction.rewrite_measure

bench-demands: setup ## one more demand put into labelled requests, in many words and places: what is written, told, asked for, lost (seeded)
	@$(BIN)/python -m tests.agents.extraction.demands

bench-lab-diagnosis: setup miniapps-venv ## failures provoked on a lab: what maple-fix says, and whether its fix runs
	@$(PYTEST) -s -p no:cacheprovider -o python_files='bench_*.py' tests/bench/bench_lab_diagnosis.py

bench-forecast: setup ## forecasts on a real history, what they take, labelled jobs, made-up answers, a story on two schedulers (ROWS=1000000)
	@ROWS=$(ROWS) $(PYTEST) -s -p no:cacheprovider -o python_files='bench_*.py' tests/bench/bench_forecast.py tests/bench/bench_admission.py \
		tests/daemon/events/test_forecast_story_lab.py

bench-slips: setup ## mistakes that rules know, in the spellings people use: noticed, cured, and their harmless twins (SEED=1 EACH=2)
	@$(BIN)/python -m tests.reality.slips $(or $(SEED),1) $(or $(EACH),2)

bench-mapping: setup ## ranks on the right hardware: found and left alone, estimates against the network lab, searchers, a model (twenty minutes of processor; RESUME=1 goes on, PASSES=3 keeps its times)
	@$(BIN)/python -m tests.bench.bench_mapping

bench-%: setup
	@$(PYTEST) -s -p no:cacheprovider -o python_files='bench_*.py' --benchmark-disable-gc -k '$*' tests

bench-bugs: venv front ## bugs put into the heart of the code, and which no near test notices (half an hour): make bench-bugs SEED=1 EACH=40
	@$(BIN)/python -m tests.bugs $(SEED) $(EACH); sample=$$?; $(BIN)/python -m tests.bugs.by_hand && exit $$sample

bench-heavy: setup miniapps-venv ## our tables and stand-ins against the real torchrun, accelerate and deepspeed
	@MAPLE_HEAVY_PYTHON=build/heavy-venv/bin/python $(PYTEST) -s -m heavy tests/heavy tests/agents/mapping/test_launched_by_torchrun.py
	@$(BIN)/python tests/heavy/doubles_against_launchers.py --venv build/heavy-venv

clean: ## all that make made, .venv included
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks build dist $(FRONT)/build
	@find . -name __pycache__ -prune -exec rm -rf {} +
