"""The population model behind (d, alpha)-linkability, bound to one table, and whether any release can pass it.

Source    Sattar et al., the dLink paper, definition 7 (record probability of GENERALISED values) and equations 1 to 6.
Claim     the share of a label is the sum of the population shares of its values, that of `*` is 1; a value or code that
          occurs in the table never has probability 0. `refuse_unlinkable` raises exactly if the whole table in one
          class fails, and then every class of every partition fails.
Because   shares are differences of one prefix sum that ends in 1; no union lowers the score (kernels/dlink/score).
Checked   tests/claims/test_dlink_model.py::test_shares_of_labels_add_up_and_the_root_is_one
          tests/claims/test_dlink_model.py::test_zero_frequencies_are_refused
          tests/claims/test_dlink_model.py::test_infeasible_is_said_with_the_best_and_the_k_that_would_do
Silent on dependence between attributes, unless the population is joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from sfumato.claims import AlphaK, KAnonymity, Linkability, Requirement, rows_for
from sfumato.errors import Infeasible, ParameterError
from sfumato.kernels.conditions import Condition, linkable
from sfumato.kernels.dlink.score import CELLS, EXACT, INDEPENDENT, LINK_MARGIN, OWN, PRODUCT, ROBUST, Link, score
from sfumato.schema import Attribute, JointCells, Population

_MODES = {"exact": EXACT, "product": PRODUCT, "robust": ROBUST}


@dataclass(frozen=True, slots=True)
class Frequencies:
    """One-way counts of the published rows: one array for each quasi-identifier, one for each sensitive attribute."""

    quasi: tuple[Attribute, ...]
    _: KW_ONLY
    sensitive: tuple[Attribute, ...]
    quasi_counts: Sequence[np.ndarray]
    sensitive_counts: Sequence[np.ndarray]
    rows: int

    @classmethod
    def of(
        cls,
        quasi: Sequence[Attribute],
        sensitive: Sequence[Attribute],
        codes: np.ndarray,
        weights: np.ndarray,
        names: Sequence[str],
    ) -> Frequencies:
        """Count rows of codes whose columns are `names`."""

        def counted(attribute: Attribute) -> np.ndarray:
            column = codes[:, list(names).index(attribute.name)]
            return np.bincount(column, weights=weights, minlength=attribute.size).astype(np.int64)

        return cls(
            tuple(quasi),
            sensitive=tuple(sensitive),
            quasi_counts=[counted(attribute) for attribute in quasi],
            sensitive_counts=[counted(attribute) for attribute in sensitive],
            rows=int(weights.sum()),
        )


def least_k(requirement: Requirement | None, rows_per_person: int = 1) -> int | None:
    """Return the rows that a requirement asks of every class, None where it asks for no number."""
    asked = [part.k for part in requirement.parts if isinstance(part, (KAnonymity, AlphaK))] if requirement else []
    return rows_for(max(asked), rows_per_person) if asked else None


def refuse_no_sensitive(sensitive: Sequence[Attribute]) -> None:
    """Raise where there is no value that linking could reveal; of an empty table, too: its claim would fail."""
    if not sensitive:
        hint = 'give a column role = "sensitive"'
        raise ParameterError("sensitive", "none", "linkability needs a sensitive attribute", hint=hint)


def bind_model(asked: Linkability, table: Frequencies, *, k: int | None) -> Link:
    """Return the model as arrays; `k` is what the base asks of every class (for `robust`)."""
    refuse_no_sensitive(table.sensitive)
    declared = asked.population if isinstance(asked.population, Population) else None
    shares = _shares(table.sensitive, table.sensitive_counts, declared)
    prefix = [_prefix(share) for share in _shares(table.quasi, table.quasi_counts, declared)]
    offset = np.cumsum([0, *(attribute.size for attribute in table.sensitive)]).astype(np.int64)
    cells = _cells(table, declared.cells) if declared is not None and declared.cells is not None else None
    if cells is not None:
        shares = [np.bincount(cells[2], weights=cells[3], minlength=table.sensitive[0].size)]
    source = CELLS if cells is not None else OWN if asked.population == "joint" else INDEPENDENT
    none = np.zeros((0, len(table.quasi)), np.int64)
    low, high, value, weight = cells or (none, none, np.zeros(0, np.int64), np.zeros(0))
    return Link(
        offset=offset,
        share=np.concatenate(shares),
        ranked=np.concatenate(
            [begin + np.argsort(-share, kind="stable") for begin, share in zip(offset[:-1], shares, strict=True)]
        ).astype(np.int64),
        sizes=np.array(asked.others or (table.rows,) * (asked.organisations - 1), np.float64),
        start=np.cumsum([0, *(len(sums) for sums in prefix)]).astype(np.int64),
        prefix=np.concatenate(prefix),
        cell_low=low,
        cell_high=high,
        cell_value=value,
        cell_weight=weight,
        d=asked.d,
        alpha=float(asked.alpha) + LINK_MARGIN,
        mode=_MODES[asked.probability],
        source=source,
        draws=_draws(asked, k),
        rows=table.rows,
    )


def _draws(asked: Linkability, k: int | None) -> int:
    if asked.probability != "robust":
        return 0
    people = asked.k_other if asked.k_other is not None else k
    if people is None:
        rule = "robust needs the least class size of the other releases"
        raise ParameterError("k_other", "none", rule, hint="give k_other, or k-anonymity beside it")
    return max(people - 1, 0)


def _shares(
    attributes: Sequence[Attribute], counts: Sequence[np.ndarray], declared: Population | None
) -> list[np.ndarray]:
    """Population share of each code: as declared, else as counted. What occurs here must be possible there."""
    found = []
    for attribute, here in zip(attributes, counts, strict=True):
        known = declared.one_way.get(attribute.name) if declared is not None else None
        table = np.asarray(here if known is None else known, np.float64)
        if table.shape != (attribute.size,):
            raise ParameterError("population", attribute.name, f"must have a frequency for each of {attribute.size}")
        _refuse_zeros(attribute, int(((np.asarray(here) > 0) & (table <= 0)).sum()))
        found.append(table / max(table.sum(), 1e-300))
    return found


def _refuse_zeros(attribute: Attribute, many: int) -> None:
    if many:
        rule = f"has frequency 0 for {many} values that occur in the table"
        hint = "declare them too, or add a count to every value; no class that holds them could ever pass"
        raise ParameterError("population", attribute.name, rule, hint=hint)


def _prefix(share: np.ndarray) -> np.ndarray:
    sums = np.concatenate([[0.0], np.cumsum(share)])
    sums[-1] = 1.0  # the share of `*`, without rounding
    return np.asarray(np.minimum(sums, 1.0))


def _cells(table: Frequencies, cells: JointCells) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cells over all quasi-identifiers (whole domains where a cell says nothing), weights summing to 1."""
    if len(table.sensitive) != 1 or table.sensitive[0].name != cells.sensitive:
        rule = f"is a joint table of {cells.sensitive}, which must be the one sensitive attribute"
        raise ParameterError("population", "cells", rule)
    names = [attribute.name for attribute in table.quasi]
    unknown = [name for name in cells.names if name not in names]
    if unknown:
        raise ParameterError("population", ", ".join(unknown), "is not a quasi-identifier of the table")
    low = np.zeros((len(cells.weight), len(names)), np.int64)
    high = np.tile(np.array([attribute.size for attribute in table.quasi], np.int64), (len(cells.weight), 1))
    for at, name in enumerate(cells.names):
        low[:, names.index(name)], high[:, names.index(name)] = cells.low[:, at], cells.high[:, at]
    values = np.bincount(cells.value, weights=cells.weight, minlength=table.sensitive[0].size)
    _refuse_zeros(table.sensitive[0], int(((np.asarray(table.sensitive_counts[0]) > 0) & (values <= 0)).sum()))
    return low, high, cells.value.astype(np.int64), cells.weight / cells.weight.sum()


def compile_linkability(asked: Linkability, table: Frequencies, *, k: int | None) -> Condition:
    """Return the condition for Mondrian's kernel; it looks at one-way shares or own counts, not at declared cells."""
    if isinstance(asked.population, Population) and asked.population.cells is not None:
        rule = "a joint table of cells is for DLink only"
        raise ParameterError("population", asked.population.name, rule, hint='DLink(base, ...), or "joint"')
    link = bind_model(asked, table, k=k)
    refuse_unlinkable(asked, link, table)
    return linkable(link)


def root_score(link: Link, counts: Sequence[np.ndarray]) -> float:
    """Score of the whole table in one class with every label `*`."""
    return float(score(link, 1.0, np.concatenate(counts).astype(np.int64), link.share))


def refuse_unlinkable(asked: Linkability, link: Link, table: Frequencies) -> None:
    """Raise `Infeasible` where even the whole table in one class fails; with `robust` say which k would do."""
    best = root_score(link, table.sensitive_counts)
    if best >= link.alpha:
        return
    fewest = min(int((np.asarray(counts) > 0).sum()) for counts in table.sensitive_counts)
    if fewest < asked.d:
        why = f"a sensitive attribute has {fewest} values, fewer than d = {asked.d}"
        raise Infeasible(asked, best, why, hint=f"ask for d = {fewest} or less")
    if asked.probability == "robust":
        why = f"with {link.draws + 1} people in the other class, the whole table as one class reaches {best:.4g}"
        raise Infeasible(asked, best, why, hint=_which_k(link, table))
    why = f"the whole table as one class reaches {best:.4g}, and no partition can do better"
    raise Infeasible(asked, best, why, hint="ask for a smaller alpha or d")


def _which_k(link: Link, table: Frequencies) -> str:
    """The least k_other with which the whole table in one class passes; the score grows in k, so halving finds it."""

    def passes(people: int) -> bool:
        return root_score(link._replace(draws=people - 1), table.sensitive_counts) >= link.alpha

    high = max(2, link.draws + 1)
    while high <= 4096 and not passes(high):
        high *= 2
    if high > 4096:
        return "no k_other up to 4096 would do"
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return f"k_other = {high} would do"
