# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Thin: every target calls what a person can call. `make help` lists them.
.POSIX:
PREFIX ?= /usr/local
SECONDS = 60

all: ## build the default set into build/default
	@. tools/setup.sh && setup_build && cmake --preset default -DLATTICE_TESTS=OFF >/dev/null && cmake --build --preset default

test: ## build and run all tests
	@./test.sh

demo: ## let the bundled model answer, and compare with Hugging Face
	@./demo.sh

install: all ## install under PREFIX (/usr/local)
	@cmake --install build/default --prefix $(PREFIX)

asan: ## tests under the address and undefined behaviour sanitizers
	@./test.sh asan

tsan: ## tests under the thread sanitizer
	@./test.sh tsan

fuzz: ## libFuzzer (clang), 60 seconds a parser: make fuzz SECONDS=60
	@tools/fuzz.sh $(SECONDS)

parity: ## every frozen reference
	@tests/parity/frozen.sh

parity-live: all ## run Hugging Face now (needs Python and PyPI) and compare
	@python3 tools/reference/live.py

references: ## write the frozen references anew (needs the environment of parity-live)
	@python3 tools/reference/live.py --freeze

bench-hf: all ## speed beside Hugging Face on this machine, in one run
	@python3 tools/reference/bench_hf.py

bench-peers: all ## speed beside llama.cpp and Hugging Face, in turns (builds llama.cpp; needs Python and PyPI)
	@python3 bench/peers/peers.py

quality: all ## what 8 and 4 bits cost: perplexity and distance, as a Markdown table
	@bench/quality.sh

bench-kernels: ## kernels of each instruction set on this machine
	@./test.sh >/dev/null && build/default/bin/test_kernels --bench

clean: ## remove build/
	@rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile

.PHONY: all test demo install asan tsan fuzz parity parity-live references bench-hf bench-peers quality bench-kernels clean help
