# Cospool: everything a person or a build machine calls. `make help` lists the targets.

SWIFT ?= swift
LINTED = Package.swift Sources Protocol Server Client Tests
SCRIPTS = Tests/Scripts

# Debug builds in .build optimise the rooms that compute: their tests take a quarter of the time (Package.swift).
export COSPOOL_OPTIMISED ?= 1
test-pure fuzz sanitize: export COSPOOL_OPTIMISED = 0

PREFIX = /usr/local
DESTDIR =

.PHONY: help setup build release install dist deb deb-source dist-check systemd-check run demo previous-check test test-pure api-check mcp-check agents-check page page-test site library-docs consumer bench backup-check harness hostile fuzz sanitize man lint format clean

help: ## Lists the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

setup: ## Checks the toolchain, installs the system libraries that are missing; SHELLS=1: zsh, fish; BROWSER=1: Chromium
	@SHELLS="$(SHELLS)" BROWSER="$(BROWSER)" $(SCRIPTS)/setup.sh

build: setup ## Builds everything (debug)
	@$(SWIFT) build

# The same executables from any folder: its name would stand in them through `__FILE__` and `#filePath`.
SAME_ANYWHERE = -Xcc '-ffile-prefix-map=$(CURDIR)=.' -Xswiftc -file-prefix-map -Xswiftc '$(CURDIR)=.'

# One product after the other: they are large. BIN names other executables.
release: setup ## Builds what is installed: optimised, with Swift's libraries inside
	@for product in cospool cospoold cospool-server; do \
	  COSPOOL_ROOMS=SyncServerCommand,SyncDaemon,SyncCommand $(SWIFT) build -c release \
	  --static-swift-stdlib $(SAME_ANYWHERE) --scratch-path .build-dist --product $$product || exit 1; done
	@$(SWIFT) --version 2> /dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p' > .build-dist/swift-version

install: ## Installs what `make release` built under PREFIX (/usr/local), below DESTDIR; BIN=DIR chooses others
	@for package in cospool cospool-server; do \
	  BIN="$(BIN)" $(SCRIPTS)/stage.sh $$package "$(DESTDIR)" "$(PREFIX)" || exit 1; done

dist: release ## Release archives with checksums, in .build-dist/out; SIGNING_KEY=FINGERPRINT signs them (gpg)
	@SIGNING_KEY="$(SIGNING_KEY)" $(SCRIPTS)/dist.sh

deb: release ## Debian packages, in .build-dist/out; SIGNING_KEY as for dist
	@SIGNING_KEY="$(SIGNING_KEY)" $(SCRIPTS)/deb.sh

deb-source: ## A Debian source package that builds without a network, in .build-dist/out; needs resolved packages
	@SIGNING_KEY="$(SIGNING_KEY)" $(SCRIPTS)/deb-source.sh

dist-check: dist deb ## Uses packages, archives and the image's root in a clean Debian 12; as root
	@$(SCRIPTS)/dist-check.sh

systemd-check: deb ## Uses the packages under a real systemd that boots in namespaces of its own; as root
	@$(SCRIPTS)/systemd-check.sh

run: setup build ## Starts a server and one paired daemon; the data stay in .run (or RUN_DIR)
	@$(SCRIPTS)/run.sh

demo: setup build ## Two devices edit offline, come back, and hold the same queues
	@$(SCRIPTS)/demo.sh

previous-check: setup build ## The demo with a server, then with a device of the version before: PREVIOUS=DIR has its executables
	@SERVER_BIN="$(PREVIOUS)" $(SCRIPTS)/demo.sh
	@PHONE_BIN="$(PREVIOUS)" $(SCRIPTS)/demo.sh

# Rooms whose tests compute: Tests/Scripts/tests.sh.
COMPUTING = SequenceCRDTTests|QueueModelTests|DeltaCodecTests|WireProtocolTests|FuzzingTests
COMPUTING := $(COMPUTING)|SyncSimulationTests|MergeHarnessTests|StoreCrashTests

test: SHELLS = 1
test: setup lint ## Lint, the whole test suite with real processes, the page where there is a Chromium
	@$(SWIFT) build --build-tests
	@SWIFT="$(SWIFT)" exec $(SCRIPTS)/tests.sh '$(COMPUTING)'
	@OPTIONAL=1 exec $(SCRIPTS)/page-test.sh

test-pure: ## The rooms without input and output alone: seconds instead of minutes
	@COSPOOL_ROOMS=pure $(SWIFT) test --scratch-path .build-pure

api-check: ## Holds a real daemon's local API against its description; EXAMPLES=n requests of a kind
	@$(SWIFT) build --product cospoold
	@EXAMPLES="$(EXAMPLES)" SEED="$(SEED)" exec $(SCRIPTS)/api-check.sh

mcp-check: ## Uses the MCP server through the protocol's reference client
	@$(SWIFT) build --product cospoold
	@$(SWIFT) build --product cospool
	@$(SCRIPTS)/mcp-check.sh

agents-check: ## The real Claude Code and Codex, in front of a scripted model; ONLY="name …" chooses checks
	@$(SWIFT) build --product cospoold
	@$(SWIFT) build --product cospool
	@ONLY="$(ONLY)" exec $(SCRIPTS)/agents-check.sh

page: ## Writes the files of the page into the daemon's table
	@python3 $(SCRIPTS)/page.py

page-test: ## Uses the page in a real Chromium; SHOTS=DIR keeps pictures of it, LONG=1 measures more often
	@$(SWIFT) build --product cospoold
	@$(SWIFT) build --product cospool
	@$(SWIFT) build --product cospool-server
	@SHOTS="$(SHOTS)" ONLY="$(ONLY)" LONG="$(LONG)" exec $(SCRIPTS)/page-test.sh

consumer: ## Builds an app from outside the package, and lets two of its devices use a server
	@$(SWIFT) build --product cospool-server
	@COSPOOL_OPTIMISED=0 exec $(SCRIPTS)/consumer.sh

site: ## The documentation as pages that need no server, in .build/site (or SITE_DIR); after library-docs with those
	@DOCS_DIR="$(or $(DOCS_DIR),.build/library-docs)" $(SCRIPTS)/site.sh "$(or $(SITE_DIR),.build/site)"

library-docs: build ## The client library's symbols as DocC has them, in .build/library-docs (or DOCS_DIR)
	@$(SCRIPTS)/library-docs.sh "$(or $(DOCS_DIR),.build/library-docs)"

bench: ## Benchmarks in release; TRACES=DIR adds the text traces, PEERS=1 compares with Loro and Yrs
	@for product in cospool-bench cospool-server cospoold cospool; do \
	  COSPOOL_ROOMS=Benchmarks,SyncServerCommand,SyncDaemon,SyncCommand \
	  $(SWIFT) build -c release --product $$product --scratch-path .build-bench || exit 1; done
	@TRACES="$(TRACES)" PEERS="$(PEERS)" exec $(SCRIPTS)/bench.sh

backup-check: ## Backups of a server under 1,000 updates a second, verified and restored; release
	@for product in cospool-bench cospool-server cospoold cospool; do \
	  COSPOOL_ROOMS=Benchmarks,SyncServerCommand,SyncDaemon,SyncCommand \
	  $(SWIFT) build -c release --product $$product --scratch-path .build-bench || exit 1; done
	@.build-bench/release/cospool-bench backup

hostile: ## 100,000 hostile clients against a real server; CLIENTS=n, SEED=n
	@for product in cospool-hostile cospool-server; do \
	  $(SWIFT) build -c release --product $$product --scratch-path .build-bench || exit 1; done
	@.build-bench/release/cospool-hostile --clients $(or $(CLIENTS),100000) --seed $(or $(SEED),0)

fuzz: ## Fuzzes decoders and the sequence: MINUTES=10 each; TARGETS="deltas frames" chooses
	@$(SCRIPTS)/fuzz.sh

sanitize: ## The pure rooms' tests under the address and the thread sanitizer, room by room
	@$(SCRIPTS)/sanitize.sh

harness: ## Simulated devices with every fault, SEEDS=n seeds (HARNESS="…" for other arguments)
	@COSPOOL_ROOMS=MergeHarness $(SWIFT) build -c release --product cospool-harness --scratch-path .build-harness
	@$(if $(HARNESS),,.build-harness/release/cospool-harness hashes --check Tests/Scenarios/trace-hashes.txt)
	@.build-harness/release/cospool-harness $(or $(HARNESS),run --seeds $(or $(SEEDS),1000))

man: build ## Manual pages in .build/man (or MAN_DIR), from what the executables say of themselves
	@python3 $(SCRIPTS)/man.py $(or $(MAN_DIR),.build/man) \
	  .build/debug/cospool .build/debug/cospoold .build/debug/cospool-server

lint: ## Checks the formatting of all Swift files
	@$(SWIFT) format lint --strict --parallel --recursive $(LINTED)

format: ## Formats all Swift files
	@$(SWIFT) format --in-place --parallel --recursive $(LINTED)

clean: ## Removes what was built; keeps the data of `make run`
	@rm -rf .build .build-dist .build-pure .build-bench .build-harness .build-fuzz .build-address .build-thread .build-consumer .venv-peers .venv-api .venv-mcp .venv-agents .venv-page .venv-site
