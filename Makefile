# Tilecast in two commands: `make demo` and `make test`. Each installs what is missing, builds and runs.
.DEFAULT_GOAL := build/tilecast
.PHONY: demo test web ui web-test test-web screenshots install deb check-deb image check-openapi wheel lab asan tsan tsan-ci bench fuzz golden weights weights-unseen accuracy coverage coverage-runs evidence fit collect format lint clean FORCE test-torch

JOBS ?= $(shell nproc)
export NINJA_STATUS = [%p] 

# Packages are checked again only when the list changes.
build/.packages: tools/install-packages
	@mkdir -p build
	@tools/install-packages
	@touch $@

build/release/build.ninja: build/.packages CMakeLists.txt CMakePresets.json
	@echo "configuring"
	@cmake --preset release > build/configure.log 2>&1 || { cat build/configure.log; rm -f $@; exit 1; }
	@touch $@

build/tilecast: build/release/build.ninja FORCE
	@cmake --build --preset release --target tilecast -j $(JOBS)
	@cmp -s build/release/tilecast $@ || cp build/release/tilecast $@

# The laboratory: what trains, fits and judges. Forecasting does not need it.
lab: build/tilecast-lab
build/tilecast-lab: build/release/build.ninja FORCE
	@cmake --build --preset release --target tilecast-lab -j $(JOBS)
	@cmp -s build/release/tilecast-lab $@ || cp build/release/tilecast-lab $@

demo: build/tilecast
	@printf '\n$$ tilecast predict Llama-3.1-8B --gpu A100-SXM-80GB,L40S,H100-SXM,B200,MI355X --mode decode --batch 32 --context 2048\n\n'
	@build/tilecast predict Llama-3.1-8B --gpu A100-SXM-80GB,L40S,H100-SXM,B200,MI355X --mode decode --batch 32 --context 2048
	@printf '\n$$ tilecast kernel attention_decode --batch 32 --kv-len 2049 --heads 32 --kv-heads 8 --gpu H100-SXM --explain\n\n'
	@build/tilecast kernel attention_decode --batch 32 --kv-len 2049 --heads 32 --kv-heads 8 --gpu H100-SXM --explain
	@printf '\nmake ui shows all of this in a browser; build/tilecast --help lists what else can be asked.\n'

# The page of web/, which goes into the program where it was built before it. npm is installed only where there is none.
web: web/dist/index.html
web/node_modules/.package-lock.json: web/package-lock.json
	@command -v npm > /dev/null || tools/install-packages nodejs npm
	@echo "fetching what the page is built with"
	@cd web && npm ci --silent --no-fund --no-audit || { echo "tilecast: npm could not fetch them; 'tilecast http' answers programs without the page" >&2; exit 1; }
	@touch $@
web/dist/index.html: web/node_modules/.package-lock.json $(wildcard web/src/* web/src/*/* web/*.mjs docs/accuracy.md docs/accuracy/*.md)
	@cd web && npm run --silent build

# The page in a browser: builds it and the program, serves both and says the address. Ctrl-C ends it.
PORT ?= 8421
ui:
	@$(MAKE) --no-print-directory web
	@$(MAKE) --no-print-directory build/tilecast
	@echo "open the address below in a browser; Ctrl-C ends the service"
	@build/tilecast http --port $(PORT) --log none

# The page's types and its modules without a browser.
web-test: web
	@cd web && npm run --silent check && npm test --silent

# The page in a real browser, Debian's Chromium, beside the command line; the modules' tests before it.
CHROMIUM ?= /usr/bin/chromium
test-web: web-test
	@[ -x $(CHROMIUM) ] || tools/install-packages chromium
	@$(MAKE) --no-print-directory build/tilecast
	@cd web && CHROMIUM=$(CHROMIUM) TILECAST=$(CURDIR)/build/tilecast node --test browser/page.test.mjs

# The pictures of docs/page.md.
screenshots: web
	@[ -x $(CHROMIUM) ] || tools/install-packages chromium
	@command -v pngquant > /dev/null || tools/install-packages pngquant
	@$(MAKE) --no-print-directory build/tilecast
	@cd web && CHROMIUM=$(CHROMIUM) TILECAST=$(CURDIR)/build/tilecast node browser/screenshots.mjs
	@pngquant --force --ext .png --strip --speed 1 64 docs/page/*.png

test: build/release/build.ninja
	@cmake --build --preset release --target tilecast_tests -j $(JOBS)
	@ctest --preset release-whole -j $(JOBS)

# What needs PyTorch, on the CPU, in a virtual environment of its own: gigabytes, so no part of `make test`.
TORCH_VENV ?= build/venv-torch
test-torch: build/tilecast $(if $(filter build/venv-torch,$(TORCH_VENV)),build/venv-torch/ready)
	@TILECAST=$(CURDIR)/build/tilecast $(TORCH_VENV)/bin/python -m unittest discover -s python/tests
	@cd build && TILECAST=$(CURDIR)/build/tilecast PYTHONPATH=$(CURDIR)/python $(abspath $(TORCH_VENV))/bin/python $(CURDIR)/python/tutorials/own_model.py
build/venv-torch/ready:
	@python3 -m venv build/venv-torch
	@build/venv-torch/bin/pip install --quiet torch transformers numpy
	@touch $@

# The program and the library, under PREFIX.
PREFIX ?= /usr/local
install: build/release/build.ninja
	@cmake --build --preset release --target tilecast tilecast_library tilecast_shared -j $(JOBS)
	@cmake --install build/release --prefix $(PREFIX)

# Debian packages, checked by lintian (docs/install.md). `make check-deb` installs them into a clean root and tries them there; `make image` makes an
# OCI image of them. The last two need root and mmdebstrap.
deb: build/.packages
	@packaging/build-deb
check-deb: deb
	@packaging/check-deb
image: deb
	@packaging/build-image

# The OpenAPI document by another's validator, from PyPI, and every example in it asked.
check-openapi: build/release/build.ninja
	@cmake --build --preset release --target tilecast test_service_schema -j $(JOBS)
	@TILECAST_ALL_EXAMPLES=1 TILECAST_OPENAPI_FILE=build/openapi.json build/release/service/test_service_schema --gtest_brief=1
	@test -d build/venv-openapi || python3 -m venv build/venv-openapi
	@build/venv-openapi/bin/pip install --quiet openapi-spec-validator
	@build/venv-openapi/bin/python -m openapi_spec_validator build/openapi.json

# The Python package with the library inside: one file for every Python from 3.9 on (docs/python.md).
wheel: build/release/build.ninja
	@cmake --build --preset release --target tilecast_shared -j $(JOBS)
	@tools/wheel build/release/libtilecast.so build/wheel

# Sanitizers and fuzz targets are built by clang.
build/.clang: build/.packages
	@tools/install-packages clang libclang-rt-dev
	@touch $@

# Short stacks of allocations save a tenth of the time; a finding is looked at with ASAN_OPTIONS= in front of its test.
asan: export ASAN_OPTIONS ?= malloc_context_size=3
asan tsan: build/.clang
	@cmake --preset $@ > build/configure-$@.log 2>&1 || { cat build/configure-$@.log; exit 1; }
	@cmake --build --preset $@ --target tilecast_tests -j $(JOBS)
	@ctest --preset $@-whole -j $(JOBS)

# What is threaded, under the thread sanitizer: the workers, tables read side by side, questions asked from many threads at once (`make tsan` also asks
# through the C++ API), the service.
tsan-ci: build/.clang
	@cmake --preset tsan > build/configure-tsan.log 2>&1 || { cat build/configure-tsan.log; exit 1; }
	@cmake --build --preset tsan --target test_support test_measure test_abi test_service_http -j $(JOBS)
	@ctest --preset tsan -j $(JOBS) -R "^(support/Workers|measure/|abi/Threads|service_http/Http(Jobs|Server))"

bench: build/release/build.ninja
	@cmake --build --preset release --target tilecast_bench -j $(JOBS)
	@build/release/tilecast_bench

# Runs every fuzz target on its corpus for SECONDS of processor time (default 30), JOBS at a time; fuzz/run says what it leaves.
SECONDS ?= 30
fuzz: build/.clang
	@cmake --preset fuzz > build/configure-fuzz.log 2>&1 || { cat build/configure-fuzz.log; exit 1; }
	@cmake --build --preset fuzz -j $(JOBS)
	@fuzz/run build/fuzz $(SECONDS) $(JOBS)

# Accepts today's forecasts as the golden ones (data/golden): whoever changes physics commits the diff with the change.
golden: build/release/build.ninja
	@cmake --build --preset release --target test_cli -j $(JOBS)
	@TILECAST_ACCEPT_GOLDEN=1 build/release/cli/test_cli --gtest_filter='Golden.*' --gtest_brief=1

# The weights that ship, from ../shared/data and our own tables: about a quarter of an hour on two cores. Small operators are learned from engines' own
# rows alone: those of Vidur and LLMServingSim are several kernels at times.
SWEEPS = data/measurements/h200_sweep.csv.gz data/measurements/h200_attention_rows.csv.gz data/measurements/h200_small_rows.csv.gz data/measurements/h200_fp32_rows.csv.gz data/measurements/h200_draw_rows.csv.gz data/measurements/h200_products_rows.csv.gz
PRODUCTS = gemm,bmm,conv2d,attention_prefill,attention_decode,attention_backward,mla_prefill,mla_decode,moe,scan
STREAMS = rmsnorm,layernorm,softmax,elementwise,gated_activation,reduction,copy,rope,embedding,quantize,kv_write,cross_entropy,optimizer,sampling
weights: build/tilecast-lab
	@build/tilecast-lab train --data ../shared/data $(SWEEPS) --sample 20000 --families $(PRODUCTS) \
	  --sources aiconfigurator,neusight,synperf,aiter,vidur,llmservingsim,miopen -o data/weights/tilecast.weights
	@build/tilecast-lab train --data ../shared/data $(SWEEPS) --sample 20000 --families $(STREAMS) \
	  --update data/weights/tilecast.weights -o data/weights/tilecast.weights

# What unseen cards keep of the shipped models, and how wide their intervals are, from the cards of `weights` left out in turn: about five minutes.
# Forests stay as they are.
weights-unseen: build/tilecast-lab
	@build/tilecast-lab train --data ../shared/data $(SWEEPS) --sample 20000 --families $(PRODUCTS) \
	  --sources aiconfigurator,neusight,synperf,aiter,vidur,llmservingsim,miopen \
	  --refit-unseen data/weights/tilecast.weights -o data/weights/tilecast.weights
	@build/tilecast-lab train --data ../shared/data $(SWEEPS) --sample 20000 --families $(STREAMS) \
	  --refit-unseen data/weights/tilecast.weights -o data/weights/tilecast.weights

# Figures over ../shared/data, each GPU and each architecture left out of a training in turn; rewrites docs/accuracy.md, docs/accuracy/ and
# docs/plots. About half an hour on two cores.
accuracy: build/tilecast-lab
	@build/tilecast-lab accuracy --data ../shared/data --sample 150 -o docs/accuracy.md

# Widths of intervals from rows of others, into src/constants/intervals.h and docs/accuracy/coverage.md. Widths of kernels first, which are
# part of those of runs. build/coverage keeps what trainings and judged runs on the way bring, so that a run cut short goes on from there; it is
# emptied where a source of the library or of the training, or the weights, changed since, and of runs where kernels' widths did. About ten minutes
# of processor time.
COVERAGE_READS = src lab/train lab/evaluate lab/import data/weights data/measurements
coverage: build/tilecast-lab
	@[ -e build/coverage/.begun ] && [ -z "$$(find $(COVERAGE_READS) -type f -newer build/coverage/.begun ! -name intervals.h)" ] || \
	  { rm -rf build/coverage; mkdir -p build/coverage; touch build/coverage/.begun; }
	@cp src/constants/intervals.h build/coverage/.before
	@build/tilecast-lab coverage --data ../shared/data --only kernels --train --keep build/coverage --constants src/constants/intervals.h
	@cmp -s src/constants/intervals.h build/coverage/.before || rm -f build/coverage/runs_*.csv
	@$(MAKE) --no-print-directory build/tilecast-lab
	@$(MAKE) --no-print-directory coverage-runs

# The same of runs and served loads alone, with the widths of kernels as they are.
coverage-runs: build/tilecast-lab
	@mkdir -p build/coverage
	@build/tilecast-lab coverage --data ../shared/data --keep build/coverage --constants src/constants/intervals.h -o docs/accuracy/coverage.md

# Tables that need no training of their own, and NeuSight's cards left out in turn.
evidence: build/tilecast-lab
	@build/tilecast-lab power -o docs/accuracy/power.md
	@build/tilecast-lab amd --data ../shared/data -o docs/accuracy/amd.md
	@build/tilecast-lab attention --data ../shared/data -o docs/accuracy/attention.md
	@build/tilecast-lab drawn -o docs/accuracy/drawn.md
	@build/tilecast-lab retime -o docs/accuracy/retime.md
	@build/tilecast-lab plans -o docs/accuracy/deployments.md
	@build/tilecast-lab papers --data ../shared/data --only cards --methods tilecast,roofline -o docs/accuracy/cards.md

# The program that measures a card (tools/collect/cuda); a line says so where there is no nvcc.
collect:
	@$(MAKE) --no-print-directory -C tools/collect/cuda OUT=$(CURDIR)/build/collect -j $(JOBS)

format:
	@git ls-files '*.cpp' '*.h' | xargs clang-format -i

lint: build/.packages
	@tools/lint

clean:
	@rm -rf build
