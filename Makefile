# The two commands are `make demo` and `make test`. A target says what happens, scripts/ says how,
# CMakePresets.json says with which flags.

.PHONY: help build demo test fuzz soak test-all test-planted asan tsan lint format clean python test-python bench-plugin bench-kernels bench-steps bench-growth bench-torch bench-utility package wheels docs bench-paper

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

build: ## build the program: build/lazydp
	@scripts/install.sh build
	@scripts/build.sh release

demo: build ## build, then train LazyDP on the synthetic click task and report
	@build/lazydp demo

test: ## build and run every test that is not labelled slow, the Python package's too
	@scripts/install.sh test
	@scripts/build.sh dev
	@scripts/test.sh dev
	@scripts/install.sh fuzz
	@scripts/fuzz.sh --runs 40000
	@scripts/test_python.sh

fuzz: ## feed every parser with made-up files, MINUTES=10 each (make test: ten to twenty seconds)
	@scripts/install.sh fuzz
	@scripts/fuzz.sh $$((60 * $(or $(MINUTES),10)))

soak: ## an hour of random kills: the model comes out the same, memory and files don't leak (MINUTES=60)
	@scripts/build.sh release
	@scripts/soak.sh $(or $(MINUTES),60)

python: ## build the Python package and install it in build/venv
	@scripts/python.sh

test-python: ## the tests of the Python package alone
	@scripts/test_python.sh

test-all: ## build and run every test, the slow ones too
	@scripts/install.sh test
	@scripts/build.sh dev
	@scripts/test.sh all
	@scripts/test_python.sh

test-planted: ## plant errors in a copy of src/ one at a time; each must turn its test red (SLIP=name: only that)
	@scripts/install.sh test
	@tests/planted/run.sh $(SLIP)

bench-kernels: ## time each kernel beside a reference of the same run (ARGS='--table-gb 8 --benchmark_filter=rows')
	@scripts/install.sh bench
	@scripts/build.sh bench
	@scripts/bench_kernels.sh $(ARGS)

bench-steps: build ## private steps beside plain ones, and what we promise of them (needs 16 GB of memory)
	@python3 benchmarks/steps/targets.py $(ARGS)

bench-growth: build ## step time over batch, pooling, table size, dimension, threads: build/growth
	@python3 benchmarks/steps/growth.py $(ARGS)

bench-plugin: python ## time the plug-in beside plain PyTorch, interleaved (needs 16 GB of memory)
	@scripts/bench_plugin.sh

bench-utility: build ## AUC at epsilon 8, 3 and 1 over a family of logs, beside other methods (hours; ARGUMENTS=--quick; goes on where it was)
	@scripts/bench_utility.sh $(ARGUMENTS)

bench-torch: python ## time the native program beside PyTorch, interleaved (needs 16 GB of memory)
	@scripts/install.sh test
	@scripts/bench_torch.sh

package: ## Debian packages and the source archive, in build/packages
	@scripts/install.sh package
	@scripts/package.sh

wheels: ## a wheel for every supported Python on this machine, in build/packages
	@scripts/wheels.sh

docs: ## the site of docs/ and the API reference, in build/site
	@scripts/docs.sh

bench-paper: build ## the paper's experiments into build/paper (EFFORT=--quick: a quarter of an hour; --smoke: a minute)
	@build/lazydp bench paper $(EFFORT) --out build/paper

asan: ## run the tests under the address and undefined-behaviour sanitizers
	@scripts/install.sh test
	@scripts/build.sh asan
	@scripts/test.sh asan

tsan: ## run the tests under the thread sanitizer
	@scripts/install.sh test
	@scripts/build.sh tsan
	@scripts/test.sh tsan

lint: ## clang-tidy, clang-format, include direction, source rules, pages (FILES='a.cc b.cc': tidy only those)
	@scripts/install.sh lint
	@scripts/lint.sh $(FILES)

format: ## rewrite the sources in the project's format
	@scripts/install.sh lint
	@scripts/format.sh

clean: ## remove everything that was built
	rm -rf build
