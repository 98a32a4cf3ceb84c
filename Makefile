# What a developer runs. `make help` lists it. Every target builds what it needs, and nothing twice.

PYTHON ?= python3
CARGO ?= cargo
DEMO ?= examples/vit_mixed_precision.py
# For pytest, corpus and bench, as in: make corpus ARGS="S01 A06"
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STUB := python/nanscope/_core.pyi
NEW_STUB := target/stubs/nanscope/_core.pyi
RUST := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)
# An extension built by other means is newer than our stamp, and one that is gone must be built again.
BUILT := $(or $(wildcard python/nanscope/_core.abi3.so),FORCE)

# maturin has a target directory of its own: it gives pyo3 other settings than a plain cargo call does, and each change of
# settings compiles pyo3 and everything above it anew.
MATURIN := VIRTUAL_ENV="$(abspath $(VENV))" PATH="$(abspath $(BIN)):$$PATH" maturin
MATURIN_OPTIONS := --locked --target-dir target/maturin
export PYO3_PYTHON := $(abspath $(BIN))/python

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

# ---- what a person asks for

.PHONY: help
help: ## List these targets
	@sed -nE 's/^([a-z-]+):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | sort | expand -t 14

.PHONY: demo
demo: $(VENV)/.release ## Diagnose a training script that turns NaN
	@echo '$$ nanscope run $(DEMO)'
	@$(BIN)/nanscope run $(DEMO); status=$$?; test $$status -eq 1 || \
	  { echo "demo: expected exit status 1, something found; got $$status" >&2; exit 1; }

.PHONY: test
test: lint stubs-check docs test-rust pytest corpus ## All that must pass: every check below but bench

.PHONY: lint
lint: $(VENV)/.ready ## Formatting, clippy, ruff, mypy
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

.PHONY: stubs-check
stubs-check: $(NEW_STUB) ## The committed stub of the extension is what its source says
	@diff -u $(STUB) $(NEW_STUB) || { echo "stubs-check: $(STUB) is out of date; run: make stubs" >&2; exit 1; }

.PHONY: docs
docs: $(VENV)/.ready ## Rust documentation, in target/doc; a warning is an error
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --quiet

.PHONY: test-rust
test-rust: $(VENV)/.ready ## Rust tests, documentation tests included
ifeq ($(shell command -v cargo-nextest),)
	$(CARGO) test --workspace --locked
else
	$(CARGO) nextest run --workspace --locked --no-fail-fast
	$(CARGO) test --doc --workspace --locked --quiet
endif

.PHONY: pytest
pytest: $(VENV)/.debug ## Python tests
	$(BIN)/python -m pytest $(ARGS)

.PHONY: corpus
corpus: $(VENV)/.debug ## Every program of corpus/ against its truth
	$(BIN)/python -m tests.corpus_board $(ARGS)

.PHONY: bench
bench: $(VENV)/.release ## What watching costs, into docs/performance.md; 27 min
	$(BIN)/python -m benches $(ARGS)

.PHONY: peers
peers: $(VENV)/.ready ## Install what bench compares with
	$(BIN)/uv pip install --python $(BIN)/python --no-deps --requirement requirements-bench.txt

.PHONY: fmt
fmt: $(VENV)/.ready ## Format Rust and Python
	$(CARGO) fmt --all
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format --quiet

.PHONY: build
build: $(VENV)/.debug ## Install nanscope into .venv: debug build, its kernels optimised all the same

.PHONY: release
release: $(VENV)/.release ## Install nanscope into .venv: release build

.PHONY: wheel
wheel: $(VENV)/.ready ## A wheel to hand on, in dist/
	$(MATURIN) build --release --strip $(MATURIN_OPTIONS) --out dist

.PHONY: stubs
stubs: $(NEW_STUB) ## Write the stub of the extension anew
	cp $(NEW_STUB) $(STUB)

.PHONY: readme
readme: $(VENV)/.debug ## Write the output that README.md shows anew
	$(BIN)/python -m tests.readme

.PHONY: pins
pins: $(VENV)/.ready ## Write constraints.txt anew from requirements-dev.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate \
	  --custom-compile-command "make pins" --output-file constraints.txt requirements-dev.txt

.PHONY: clean
clean: ## Remove what was built or installed
	rm -rf target dist build $(VENV) nanscope-runs .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f python/nanscope/_core*.so
	find python tests benches examples corpus -name __pycache__ -prune -exec rm -rf {} +

# ---- what those need

$(VENV)/.ready: requirements-dev.txt constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else \
	  "expected Python 3.11 or newer, got %d.%d; as in: make PYTHON=python3.12" % v[:2])'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt uv
	$(BIN)/uv pip install --python $(BIN)/python --constraint constraints.txt --requirement requirements-dev.txt
	@touch $@

# Installed in editable form: a change below python/ needs no build.
$(VENV)/.debug: $(VENV)/.ready $(RUST) $(BUILT)
	$(MATURIN) develop --uv --quiet $(MATURIN_OPTIONS)
	@rm -f $(VENV)/.release
	@touch $@

$(VENV)/.release: $(VENV)/.ready $(RUST) $(BUILT)
	$(MATURIN) develop --uv --quiet --release $(MATURIN_OPTIONS)
	@rm -f $(VENV)/.debug
	@touch $@

$(NEW_STUB): $(VENV)/.ready $(RUST)
	$(MATURIN) generate-stubs --quiet $(MATURIN_OPTIONS) --out target/stubs
	@$(BIN)/ruff check --fix-only --quiet $@
	@$(BIN)/ruff format --quiet $@

.PHONY: FORCE
FORCE:
