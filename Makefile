# make demo   set up what running needs, and show the window on two sample checkpoints
# make test   set up everything, then check style, types and layers, and run the tests
#
# Both work on a fresh machine. PYTHON=/path/to/python3.12 chooses the interpreter, JOBS=4 the number of test processes.

JOBS ?= 2
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench nightly screenshots samples wheel clean distclean

help:
	@sed -n '1,4s/^# \{0,1\}//p' Makefile
	@echo "also: make lint, format, bench, nightly, screenshots, samples, wheel, clean, distclean"

# The stamps lie in .venv, so they vanish with it. A full set-up serves `make demo` too.
.venv/.setup-dev: constraints.txt pyproject.toml tools/set_up.sh
	@tools/set_up.sh dev
	@touch .venv/.setup-run

.venv/.setup-run: constraints.txt pyproject.toml tools/set_up.sh
	@tools/set_up.sh run

demo: .venv/.setup-run
	@$(BIN)/python tools/system_libraries.py $(if $(DISPLAY)$(WAYLAND_DISPLAY),,--screen-if-possible)
	@$(BIN)/python -m tools.demo

test: lint
	@$(BIN)/python tools/system_libraries.py --test
	@$(BIN)/pytest -n $(JOBS) --dist loadgroup

lint: .venv/.setup-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: .venv/.setup-dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: .venv/.setup-dev
	@$(BIN)/python tools/system_libraries.py --screen
	@$(BIN)/python -m benchmarks.run

# One SHA-256 for one content in other versions of Python and torch, which are installed below build/.
nightly: .venv/.setup-dev
	@$(BIN)/python -m benchmarks.versions

screenshots: .venv/.setup-run
	@$(BIN)/python tools/system_libraries.py --screen
	@$(BIN)/python -m tools.screenshots

samples: .venv/.setup-run
	@$(BIN)/python resources/samples/make_samples.py

wheel: .venv/.setup-dev
	@$(BIN)/python -m build --wheel --no-isolation

clean:
	@rm -rf build dist demo-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean
	@rm -rf .venv
