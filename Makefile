# The commands of a working day. `make test` and `make demo` set up what they need on a bare Debian or Ubuntu.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SWIFT ?= swift
# Sequences that `make foldcheck` runs, how many of them `make test` does, and their seed.
SEQUENCES ?= 1000000
CHECKED_SEQUENCES ?= 30000
SEED ?= 1
# Damaged data files that `make damage` opens in each way.
DAMAGED_FILES ?= 3000
# Worlds that `make simulate` runs, and how many of them `make test` does; and how many with assets.
SEEDS ?= 1..100000
CHECKED_SEEDS ?= 1..200
ASSET_SEEDS ?= 1..40
# Planted bugs that `make planted` looks for: all, a name, or 3/10 for the third tenth of them.
BUGS ?= all
# Repository whose history the demo runs.
REPO ?= .
DEMO := .build/demo

REPLAY = "$$($(SWIFT) build -c release --show-bin-path)/replay"
HOUSE = "$$($(SWIFT) build --show-bin-path)/House"
# Known bugs are built from a copy of the sources that has them all. The copy is made in this build directory.
PLANTED_PATH ?= .build-planted
PLANTED = $(SWIFT) build -c release --package-path $(PLANTED_PATH)/tributary --scratch-path $(PLANTED_PATH) --product replay

.PHONY: help setup build test test-debug damage foldcheck foldcheck-some simulate simulate-check planted house face bench bench-smoke instructions demo lint docs soak clean

help: ## Shows this list.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## Installs what is missing to build: liblmdb, libzstd, pkg-config; checks Swift.
	@Scripts/setup

build: setup ## Builds the release products.
	$(SWIFT) build -c release --product replay

test: test-debug foldcheck-some simulate-check ## Runs every test, then FoldCheck and simulated worlds from the release build.

test-debug: setup
	$(SWIFT) build --build-tests
	$(SWIFT) test --skip-build

damage: setup ## Damages 3,000 data files in each of three ways, which must end no process: DAMAGED_FILES=3000
	$(SWIFT) build --build-tests
	DAMAGED_FILES=$(DAMAGED_FILES) $(SWIFT) test --skip-build --filter DamageTests

foldcheck: build ## Checks the fold against a naive oracle: SEQUENCES=… SEED=…
	$(REPLAY) foldcheck --sequences $(SEQUENCES) --seed $(SEED)

foldcheck-some: build
	$(REPLAY) foldcheck --sequences $(CHECKED_SEQUENCES) --seed $(SEED)

simulate: build ## Runs worlds in which everything fails: SEEDS=1..100000
	$(REPLAY) simulate --seeds $(SEEDS)

simulate-check: build
	$(REPLAY) simulate --seeds-file Tests/Regressions/seeds.txt
	$(REPLAY) simulate --seeds $(CHECKED_SEEDS)
	$(REPLAY) simulate --assets --seeds $(ASSET_SEEDS)

planted: setup ## Plants known bugs, one after the other, and sees that the simulator finds each: BUGS=all
	$(SWIFT) build --product House
	$(HOUSE) plant $(PLANTED_PATH)/tributary
	$(PLANTED)
	$(HOUSE) find $(BUGS) --replay "$$($(PLANTED) --show-bin-path)/replay"

house: ## Measures the sources: folders and their arrows, kinds, sizes of types, access, lines.
	$(SWIFT) build --product House
	$(HOUSE) report

face: ## Writes the lists of public declarations anew, which the tests compare.
	$(SWIFT) build --product House
	$(HOUSE) face

bench: ## Compares with raw LMDB and with SQLite through GRDB, in turns: ONLY=… PLOT=…
	@Scripts/setup sqlite3
	cd Benchmarks && $(SWIFT) build -c release && .build/release/Bench \
		$(if $(ONLY),--only "$(ONLY)") $(if $(PLOT),--plot "$(abspath $(PLOT))")

bench-smoke: ## Runs each comparison small, and sees that all come to the same.
	@Scripts/setup sqlite3
	cd Benchmarks && $(SWIFT) build -c release && .build/release/Bench --smoke

instructions: setup ## Counts the instructions of operations, and fails where more than 5 % were added.
	@Scripts/instructions

demo: build ## Runs a git history on 16 devices that are mostly offline, and shows that they agree: REPO=…
	@Scripts/demo $(REPLAY) "$(REPO)" "$(DEMO)"

lint: ## Checks the format of the sources.
	$(SWIFT) format lint -r --strict Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources

docs: setup ## Builds the documentation of each library; warnings are errors.
	@mkdir -p .build/docs
	@for target in OperationFormat EventStore Replicator StoreTesting; do \
	  $(SWIFT) package --allow-writing-to-directory .build/docs generate-documentation --target $$target \
	    --output-path .build/docs/$$target --warnings-as-errors; \
	done

soak: build ## Runs what takes days: FoldCheck at 10⁸ sequences, 10⁷ simulated worlds, a thousand histories.
	$(REPLAY) foldcheck --sequences 100000000 --seed $(SEED)
	$(REPLAY) simulate --seeds 1..10000000
	$(REPLAY) simulate --assets --seeds 1..1000000
	for seed in {1..1000}; do \
	  $(REPLAY) history --generate 3000 --devices 16 \
	    --sync-every 9 --offline 0.6 --seed $$seed; \
	done

clean: ## Removes what was built.
	rm -rf .build .build-planted Benchmarks/.build
