# The two commands: `make demo` and `make test`. Both set everything up in .venv first.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
# Numba and BLAS threads of test workers would fight for the cores.
export NUMBA_NUM_THREADS ?= 2
export OMP_NUM_THREADS ?= 2
export POLARS_MAX_THREADS ?= 2

.PHONY: demo test check claims bench papers docs pages sizes lint spark35 warm clean

$(STAMP): constraints.txt pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@

demo: $(STAMP)
	$(BIN)/sfumato demo

lint: $(STAMP)
	$(BIN)/ruff check src tests benchmarks papers
	$(BIN)/ruff format --check src tests benchmarks papers
	$(BIN)/mypy

warm: $(STAMP)
	@$(BIN)/python -m sfumato.kernels.warm

test: lint warm
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not full"

check: lint warm
	$(BIN)/python -m pytest -n 2 -m "not full" tests/unit tests/house

claims: lint warm
	$(BIN)/python -m pytest -n 2 --dist loadfile

# The tests of Spark on pyspark 3.5, which is installed beside .venv, outside the checkout.
SPARK35 ?= $(HOME)/.cache/sfumato/spark35
spark35: warm
	@test -d $(SPARK35)/pyspark || $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
		--target $(SPARK35) 'pyspark==3.5.9' 'py4j==0.10.9.7' 'pandas==2.3.3' pytz tzdata
	PYTHONPATH=$(SPARK35) $(BIN)/python -m pytest -W ignore tests/claims/test_spark.py

bench: warm
	$(BIN)/python benchmarks/run.py

# The four papers again: their figures recomputed, printed numbers beside ours.
papers: warm
	for paper in diffgen dlink tradeoff onthemap; do $(BIN)/python -m papers $$paper -o $$paper.html || exit 1; done

# Pages that the code writes: commands, methods, claims, schema keys. A test fails when one is stale.
pages: $(STAMP)
	$(BIN)/python docs/generate.py

docs: pages
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

sizes:
	@find src -name '*.py' | xargs wc -l | sort -rn | sed -n '2,11p'

clean:
	rm -rf .venv build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
