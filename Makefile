# The developer's commands. Each makes what it needs first, and nothing twice.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
COMPILERS := triton-3.6.0
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help site test lint format types check measure clean

help: ## list these commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

site: $(VENV)/.site ## build site/ from the committed results
	$(BIN)/writeup build $(ARGS)

test: $(VENV)/.dev ## run every test; ARGS are pytest's
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.dev ## style and format, nothing changed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev ## mend what lint can mend by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.dev ## check annotations
	$(BIN)/mypy

check: $(VENV)/.site ## every rule over every story and result, nothing written
	$(BIN)/writeup check $(ARGS)

measure: $(VENV)/.dev ## measure on this machine; ARGS are those of harness run
	$(BIN)/harness run $(ARGS)

clean: ## remove what these commands made
	rm -rf $(VENV) site dist

# A page needs neither torch nor triton, so building one installs neither.
$(VENV)/.site: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) editables hatchling
	$(INSTALL) --no-build-isolation -e .
	touch $@

$(VENV)/.dev: $(VENV)/.site $(COMPILERS:%=$(VENV)/compilers/%)
	$(INSTALL) --no-build-isolation -e '.[harness,dev]'
	touch $@

# Releases of Triton that made binaries of the committed results, to make them again.
$(VENV)/compilers/triton-%: $(VENV)/.site
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $@ triton==$*
