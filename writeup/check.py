"""The third verb: one small function a rule, each yields what it refuses.

Rules that need no more than one file's form are judged where it is read (bad-story,
bad-artifact, unknown-citation); those that need the finished bytes are judged there
(typed-number again, broken-link).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from writeup.checks import comparatives, comparisons, record, story, typed
from writeup.config import Config, Ignore
from writeup.errors import Problem, Severity
from writeup.sources import Sources
from writeup.told import Told

Rule = Callable[[Sources, Mapping[str, Told]], Iterator[Problem]]


def check(
    sources: Sources, told: Mapping[str, Told], *, ask_history: bool = False
) -> tuple[Problem, ...]:
    """What the rules refuse, sorted, before the project's configuration weighs it.

    A build is a function of files alone, so history is asked only on request.
    """
    rules = (*RULES, *(RULES_OF_HISTORY if ask_history else ()))
    return tuple(sorted({problem for rule in rules for problem in rule(sources, told)}))


def weighed(problems: Iterable[Problem], config: Config) -> tuple[Problem, ...]:
    """Problems with the severity that the project gives their rule, without the ignored."""
    kept = (problem for problem in set(problems) if _ignore(problem, config) is None)
    return tuple(sorted(p.weighing(config.severity.get(p.rule, p.severity)) for p in kept))


def silenced(problems: Iterable[Problem], config: Config) -> dict[Ignore, int]:
    """How many problems each ignore of the configuration takes out, in its order.

    Of several that cover a problem, the first does.
    """
    counts = dict.fromkeys(config.ignore, 0)
    for problem in set(problems):
        ignore = _ignore(problem, config)
        if ignore is not None:
            counts[ignore] += 1
    return counts


def idle_ignores(
    problems: Iterable[Problem], config: Config, *, ask_history: bool = False
) -> Iterator[Problem]:
    """A warning for each ignore that takes nothing out of `problems`, everything that is wrong.

    What rules of history would have found is not known unless they were asked.
    """
    for ignore, count in silenced(problems, config).items():
        if count or (ignore.rule in OF_HISTORY and not ask_history):
            continue
        message = f"the ignore of '{ignore.rule}' at '{ignore.path}' silences nothing"
        hint = "remove it, or it will silence the next mistake there"
        column = 1 if ignore.line else 0
        found = Problem(config.source, ignore.line, column, "bad-config", message, hint)
        yield found.weighing(Severity.WARNING)


def _ignore(problem: Problem, config: Config) -> Ignore | None:
    """The first ignore that covers a problem."""
    return next(
        (
            ignore
            for ignore in config.ignore
            if ignore.rule == problem.rule and fnmatchcase(problem.path, ignore.path)
        ),
        None,
    )


RULES: tuple[Rule, ...] = (
    typed.typed_numbers,
    typed.typed_numbers_of_records,
    typed.figures_in_facts,
    typed.literals,
    typed.glossary_of_figures,
    comparisons.unnamed_baselines,
    comparisons.incomparable,
    comparisons.unresolved_claims,
    story.story_order,
    story.no_attempts,
    story.hidden_loss,
    story.result_incomplete,
    story.datasheet_ceiling,
    story.steps_without_measurement,
    comparatives.bare_comparatives,
    record.unconfirmed_units,
    record.missing_configs,
    record.above_ceilings,
    record.not_concluded,
    record.late_hypotheses,
    record.private_data,
)
"""The rules, by what they look at; `check` runs them all."""

RULES_OF_HISTORY: tuple[Rule, ...] = (record.source_mismatch,)
OF_HISTORY = frozenset({"source-mismatch"})
"""The rules that ask git, which a build does not, and the ids of what they find."""
