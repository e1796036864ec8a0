# The commands of a working day. `make test` and `make demo` set up what they need on a bare Debian or Ubuntu.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SWIFT ?= swift
# Sequences that `make test` lets FoldCheck run, and its seed.
SEQUENCES ?= 1000000
SEED ?= 1
# Repository whose history the demo runs.
REPO ?= .
DEMO := .build/demo

.PHONY: help setup build test test-debug foldcheck demo lint docs soak clean

help: ## Shows this list.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## Installs what is missing to build: liblmdb, libzstd, pkg-config; checks Swift.
	@Scripts/setup

build: setup ## Builds the release products.
	$(SWIFT) build -c release --product replay

test: test-debug foldcheck ## Runs every test, then FoldCheck from the release build.

test-debug: setup
	$(SWIFT) build --build-tests
	$(SWIFT) test --skip-build

foldcheck: build ## Checks the fold against a naive oracle: SEQUENCES=… SEED=…
	$$($(SWIFT) build -c release --show-bin-path)/replay foldcheck --sequences $(SEQUENCES) --seed $(SEED)

demo: build ## Runs a git history on 16 devices that are mostly offline, and shows that they agree: REPO=…
	@Scripts/demo "$$($(SWIFT) build -c release --show-bin-path)/replay" "$(REPO)" "$(DEMO)"

lint: ## Checks the format of the sources.
	$(SWIFT) format lint -r --strict Package.swift Sources Tests

docs: setup ## Builds the documentation of each library; warnings are errors.
	@mkdir -p .build/docs
	@for target in OperationFormat EventStore Replicator StoreTesting; do \
	  $(SWIFT) package --allow-writing-to-directory .build/docs generate-documentation --target $$target \
	    --output-path .build/docs/$$target --warnings-as-errors; \
	done

soak: build ## Runs what takes hours: FoldCheck at a hundred million sequences, and a thousand histories.
	$$($(SWIFT) build -c release --show-bin-path)/replay foldcheck --sequences 100000000 --seed $(SEED)
	for seed in {1..1000}; do \
	  $$($(SWIFT) build -c release --show-bin-path)/replay history --generate 3000 --devices 16 \
	    --sync-every 9 --offline 0.6 --seed $$seed; \
	done

clean: ## Removes what was built.
	rm -rf .build
