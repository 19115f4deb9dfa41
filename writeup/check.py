"""The third verb: one small function a rule, each yields what it refuses.

Rules that need no more than one file's form are judged where it is read (bad-story,
bad-artifact, unknown-citation); those that need the finished bytes are judged there
(typed-number again, broken-link).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from writeup.checks import comparisons, record, story, typed
from writeup.config import Config
from writeup.errors import Problem
from writeup.sources import Sources
from writeup.told import Told

Rule = Callable[[Sources, Mapping[str, Told]], Iterator[Problem]]


def check(
    sources: Sources, told: Mapping[str, Told], *, ask_history: bool = False
) -> tuple[Problem, ...]:
    """What the rules refuse, sorted; severities and reasoned ignores applied.

    A build is a function of files alone, so history is asked only on request.
    """
    rules = (*RULES, *(RULES_OF_HISTORY if ask_history else ()))
    found = {problem for rule in rules for problem in rule(sources, told)}
    return weighed(found, sources.config)


def weighed(problems: Iterable[Problem], config: Config) -> tuple[Problem, ...]:
    """Problems with the severity that the project gives their rule, without the ignored."""
    kept = []
    for problem in set(problems):
        if any(
            ignore.rule == problem.rule and fnmatchcase(problem.path, ignore.path)
            for ignore in config.ignore
        ):
            continue
        severity = config.severity.get(problem.rule, problem.severity)
        kept.append(problem.weighing(severity))
    return tuple(sorted(kept))


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
    story.bare_comparatives,
    record.unconfirmed_units,
    record.missing_configs,
    record.above_ceilings,
    record.not_concluded,
    record.late_hypotheses,
    record.private_data,
)
RULES_OF_HISTORY: tuple[Rule, ...] = (record.source_mismatch,)
