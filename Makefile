# Cospool: the commands for people and build machines. `make help` lists the targets.

SWIFT ?= swift
LINTED = Package.swift Sources Protocol Server Client Tests
SCRIPTS = Tests/Scripts

# Debug builds in .build optimise the rooms that compute, so their tests take a quarter of the time (Package.swift).
export COSPOOL_OPTIMISED ?= 1
test-pure fuzz sanitize: export COSPOOL_OPTIMISED = 0

PREFIX = /usr/local
DESTDIR =

.PHONY: help setup build release install dist deb deb-source dist-check systemd-check run demo previous-check test test-pure api-check mcp-check agents-check page page-test site library-docs consumer bench backup-check harness hostile fuzz sanitize man lint format clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

setup: ## Check the toolchain and install missing system libraries; SHELLS=1 adds zsh and fish, BROWSER=1 Chromium
	@SHELLS="$(SHELLS)" BROWSER="$(BROWSER)" $(SCRIPTS)/setup.sh

build: setup ## Build everything (debug)
	@$(SWIFT) build

# The same executables from any folder: without this, `__FILE__` and `#filePath` put its name into them.
SAME_ANYWHERE = -Xcc '-ffile-prefix-map=$(CURDIR)=.' -Xswiftc -file-prefix-map -Xswiftc '$(CURDIR)=.'

# Builds one product after the other, because they are large.
release: setup ## Build the executables to install: optimised, with Swift's libraries inside
	@for product in cospool cospoold cospool-server; do \
	  COSPOOL_ROOMS=SyncServerCommand,SyncDaemon,SyncCommand $(SWIFT) build -c release \
	  --static-swift-stdlib $(SAME_ANYWHERE) --scratch-path .build-dist --product $$product || exit 1; done
	@$(SWIFT) --version 2> /dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p' > .build-dist/swift-version

install: ## Install what `make release` built in PREFIX (/usr/local), below DESTDIR; BIN=DIR has other executables
	@for package in cospool cospool-server; do \
	  BIN="$(BIN)" $(SCRIPTS)/stage.sh $$package "$(DESTDIR)" "$(PREFIX)" || exit 1; done

dist: release ## Make release archives with checksums, in .build-dist/out; SIGNING_KEY=FINGERPRINT signs them (gpg)
	@SIGNING_KEY="$(SIGNING_KEY)" $(SCRIPTS)/dist.sh

deb: release ## Make Debian packages, in .build-dist/out; SIGNING_KEY as for dist
	@SIGNING_KEY="$(SIGNING_KEY)" $(SCRIPTS)/deb.sh

deb-source: ## Make a Debian source package that builds without a network, in .build-dist/out; needs resolved packages
	@SIGNING_KEY="$(SIGNING_KEY)" $(SCRIPTS)/deb-source.sh

dist-check: dist deb ## Try packages, archives and the image's root in a clean Debian 12; needs root
	@$(SCRIPTS)/dist-check.sh

systemd-check: deb ## Try the packages under a real systemd that boots in its own namespaces; needs root
	@$(SCRIPTS)/systemd-check.sh

run: setup build ## Start a server and one paired daemon; the data stays in .run (or RUN_DIR)
	@$(SCRIPTS)/run.sh

demo: setup build ## Let two devices edit offline, reconnect, and end with the same queues
	@$(SCRIPTS)/demo.sh

previous-check: setup build ## Run the demo with a server, then with a device, of the previous version; PREVIOUS=DIR has its executables
	@SERVER_BIN="$(PREVIOUS)" $(SCRIPTS)/demo.sh
	@PHONE_BIN="$(PREVIOUS)" $(SCRIPTS)/demo.sh

# The suites whose tests compute; see Tests/Scripts/tests.sh.
COMPUTING = SequenceCRDTTests|QueueModelTests|DeltaCodecTests|WireProtocolTests|FuzzingTests
COMPUTING := $(COMPUTING)|SyncSimulationTests|MergeHarnessTests|StoreCrashTests

test: SHELLS = 1
test: setup lint ## Lint, and run all tests with real processes, and those of the page if there is a Chromium
	@$(SWIFT) build --build-tests
	@SWIFT="$(SWIFT)" exec $(SCRIPTS)/tests.sh '$(COMPUTING)'
	@OPTIONAL=1 exec $(SCRIPTS)/page-test.sh

test-pure: ## Test only the rooms without input and output: seconds instead of minutes
	@COSPOOL_ROOMS=pure $(SWIFT) test --scratch-path .build-pure

api-check: ## Check a real daemon's local API against its description; EXAMPLES=n requests of each kind
	@$(SWIFT) build --product cospoold
	@EXAMPLES="$(EXAMPLES)" SEED="$(SEED)" exec $(SCRIPTS)/api-check.sh

mcp-check: ## Check the MCP server with the protocol's reference client
	@$(SWIFT) build --product cospoold
	@$(SWIFT) build --product cospool
	@$(SCRIPTS)/mcp-check.sh

agents-check: ## Check the real Claude Code and Codex with a scripted model; ONLY="name …" chooses checks
	@$(SWIFT) build --product cospoold
	@$(SWIFT) build --product cospool
	@ONLY="$(ONLY)" exec $(SCRIPTS)/agents-check.sh

page: ## Write the files of the page into the daemon's table
	@python3 $(SCRIPTS)/page.py

page-test: ## Test the page in a real Chromium; SHOTS=DIR keeps screenshots, LONG=1 measures more often
	@$(SWIFT) build --product cospoold
	@$(SWIFT) build --product cospool
	@$(SWIFT) build --product cospool-server
	@SHOTS="$(SHOTS)" ONLY="$(ONLY)" LONG="$(LONG)" exec $(SCRIPTS)/page-test.sh

consumer: ## Build an app outside the package, and let two of its devices use a server
	@$(SWIFT) build --product cospool-server
	@COSPOOL_OPTIMISED=0 exec $(SCRIPTS)/consumer.sh

site: ## Make the documentation as pages that need no server, in .build/site (or SITE_DIR); includes library-docs if made
	@DOCS_DIR="$(or $(DOCS_DIR),.build/library-docs)" $(SCRIPTS)/site.sh "$(or $(SITE_DIR),.build/site)"

library-docs: build ## Make DocC pages of the client library's symbols, in .build/library-docs (or DOCS_DIR)
	@$(SCRIPTS)/library-docs.sh "$(or $(DOCS_DIR),.build/library-docs)"

bench: ## Run the benchmarks in release; TRACES=DIR adds the text traces, PEERS=1 compares with Loro and Yrs
	@for product in cospool-bench cospool-server cospoold cospool; do \
	  COSPOOL_ROOMS=Benchmarks,SyncServerCommand,SyncDaemon,SyncCommand \
	  $(SWIFT) build -c release --product $$product --scratch-path .build-bench || exit 1; done
	@TRACES="$(TRACES)" PEERS="$(PEERS)" exec $(SCRIPTS)/bench.sh

backup-check: ## Verify and restore backups of a server under 1,000 updates a second, in release
	@for product in cospool-bench cospool-server cospoold cospool; do \
	  COSPOOL_ROOMS=Benchmarks,SyncServerCommand,SyncDaemon,SyncCommand \
	  $(SWIFT) build -c release --product $$product --scratch-path .build-bench || exit 1; done
	@.build-bench/release/cospool-bench backup

hostile: ## Run 100,000 hostile clients against a real server; CLIENTS=n, SEED=n
	@for product in cospool-hostile cospool-server; do \
	  $(SWIFT) build -c release --product $$product --scratch-path .build-bench || exit 1; done
	@.build-bench/release/cospool-hostile --clients $(or $(CLIENTS),100000) --seed $(or $(SEED),0)

fuzz: ## Fuzz the decoders and the sequence; MINUTES=10 for each, TARGETS="deltas frames" chooses
	@$(SCRIPTS)/fuzz.sh

sanitize: ## Run the pure rooms' tests under the address and the thread sanitizer, room by room
	@$(SCRIPTS)/sanitize.sh

harness: ## Simulate devices with every fault; SEEDS=n seeds, HARNESS="…" gives other arguments
	@COSPOOL_ROOMS=MergeHarness $(SWIFT) build -c release --product cospool-harness --scratch-path .build-harness
	@$(if $(HARNESS),,.build-harness/release/cospool-harness hashes --check Tests/Scenarios/trace-hashes.txt)
	@.build-harness/release/cospool-harness $(or $(HARNESS),run --seeds $(or $(SEEDS),1000))

man: build ## Make manual pages in .build/man (or MAN_DIR) from the help of the executables
	@python3 $(SCRIPTS)/man.py $(or $(MAN_DIR),.build/man) \
	  .build/debug/cospool .build/debug/cospoold .build/debug/cospool-server

lint: ## Check the formatting of all Swift files
	@$(SWIFT) format lint --strict --parallel --recursive $(LINTED)

format: ## Format all Swift files
	@$(SWIFT) format --in-place --parallel --recursive $(LINTED)

clean: ## Remove everything that was built; keep the data of `make run`
	@rm -rf .build .build-dist .build-pure .build-bench .build-harness .build-fuzz .build-address .build-thread .build-consumer .venv-peers .venv-api .venv-mcp .venv-agents .venv-page .venv-site
