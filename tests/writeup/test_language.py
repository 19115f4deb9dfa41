"""The grammar of citations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from writeup.language import (
    RESERVED,
    Block,
    BlockName,
    CitationError,
    Claim,
    Code,
    Denominator,
    Diff,
    Facets,
    Fact,
    Field,
    Measure,
    Namespace,
    Predicted,
    Ratio,
    Relation,
    Value,
    Versus,
    Word,
    nearest,
    parse,
)

A, B = Word("bn64"), Word("sdpa")
TIME = Measure(Field.TIME)

SENTENCES = [
    ("bn64.time", Value(A, TIME)),
    ("  bn64.time  ", Value(A, TIME)),
    (
        "bn64.time @ n512-d64, graph",
        Value(A, TIME, Facets((Word("n512-d64"), Word("graph")))),
    ),
    ("bn64.time@graph,wide", Value(A, TIME, Facets((Word("graph"), Word("wide"))))),
    ("bn64.time @ all cases", Value(A, TIME, Facets(all_cases=True))),
    ("bn64.time @ all cases, host", Value(A, TIME, Facets((Word("host"),), all_cases=True))),
    (
        "bn64.time @ 20261130T1812Z-epyc-2",
        Value(A, TIME, Facets((Word("20261130T1812Z-epyc-2"),))),
    ),
    ("bn64.time @ softmax.wide", Value(A, TIME, Facets((Word("softmax.wide"),)))),
    ("bn64.fraction", Value(A, Measure(Field.FRACTION))),
    ("bn64.fraction of copy", Value(A, Measure(Field.FRACTION, Denominator.COPY))),
    ("bn64.fraction of matched", Value(A, Measure(Field.FRACTION, Denominator.COPY))),
    ("bn64.fraction of ceiling", Value(A, Measure(Field.FRACTION, Denominator.CEILING))),
    ("bn64.fraction of attainable", Value(A, Measure(Field.FRACTION, Denominator.ATTAINABLE))),
    ("bn64.spills", Value(A, Measure(Field.SPILLS))),
    ("bn64.spill bytes", Value(A, Measure(Field.SPILLS))),
    ("bn64.shared memory @ wide", Value(A, Measure(Field.SHARED), Facets((Word("wide"),)))),
    ("bn64.metric.error", Value(A, Measure(Field.METRIC, name=Word("error")))),
    ("bn64.counter.dram-read", Value(A, Measure(Field.COUNTER, name=Word("dram-read")))),
    ("bn64.shared limit", Value(A, Measure(Field.SHARED_LIMIT))),
    ("bn64.shared", Value(A, Measure(Field.SHARED))),
    (
        "bn64.relative error @ wide",
        Value(A, Measure(Field.RELATIVE_ERROR), Facets((Word("wide"),))),
    ),
    ("bn64.config.num_warps", Value(A, Measure(Field.CONFIG, name=Word("num_warps")))),
    ("bn64.config.a.b", Value(A, Measure(Field.CONFIG, name=Word("a.b")))),
    ("bn64.bytes as implemented", Value(A, Measure(Field.BYTES, implemented=True))),
    (
        "bn64.bandwidth as implemented @ wide",
        Value(A, Measure(Field.BANDWIDTH, implemented=True), Facets((Word("wide"),))),
    ),
    (
        "claim bn64 bytes as implemented below sdpa",
        Claim(A, Relation.BELOW, B, Measure(Field.BYTES, implemented=True)),
    ),
    ("bn64.speedup over sdpa", Ratio(A, B)),
    ("bn64.speedup over sdpa @ all cases", Ratio(A, B, Facets(all_cases=True))),
    ("bn64 vs sdpa", Versus(A, B)),
    ("claim bn64 faster than sdpa", Claim(A, Relation.FASTER, B, TIME)),
    ("claim bn64 slower than sdpa", Claim(A, Relation.SLOWER, B, TIME)),
    ("claim bn64 same as sdpa", Claim(A, Relation.SAME, B, TIME)),
    ("claim bn64 time below sdpa", Claim(A, Relation.BELOW, B, TIME)),
    (
        "claim bn64 registers below sdpa",
        Claim(A, Relation.BELOW, B, Measure(Field.REGISTERS)),
    ),
    (
        "claim bn64 spill bytes above sdpa @ wide",
        Claim(A, Relation.ABOVE, B, Measure(Field.SPILLS), Facets((Word("wide"),))),
    ),
    (
        "claim bn64 fraction of copy above sdpa",
        Claim(A, Relation.ABOVE, B, Measure(Field.FRACTION, Denominator.COPY)),
    ),
    (
        "claim bn64 metric.error below sdpa",
        Claim(A, Relation.BELOW, B, Measure(Field.METRIC, name=Word("error"))),
    ),
    ("env.device", Fact(Namespace.ENV, (Word("device"),))),
    (
        "env.flags.torch.num_threads",
        Fact(Namespace.ENV, tuple(map(Word, ["flags", "torch", "num_threads"]))),
    ),
    (
        "env.variables.OMP_NUM_THREADS",
        Fact(Namespace.ENV, (Word("variables"), Word("OMP_NUM_THREADS"))),
    ),
    ("case.shape @ wide", Fact(Namespace.CASE, (Word("shape"),), Facets((Word("wide"),)))),
    ("ceiling.memory", Fact(Namespace.CEILING, (Word("memory"),))),
    ("run.date", Fact(Namespace.RUN, (Word("date"),))),
    ("predicted", Predicted()),
    ("predicted.bn64", Predicted(A)),
    ("predicted.bn64 @ wide", Predicted(A, facets=Facets((Word("wide"),)))),
    ("predicted.bn64 over sdpa", Predicted(A, B)),
    ("predicted vs measured", Predicted(measured=True)),
    (
        "predicted.bn64 over sdpa vs measured @ wide",
        Predicted(A, B, measured=True, facets=Facets((Word("wide"),))),
    ),
    ("code fused.py:softmax_kernel", Code(Word("fused.py"), Word("softmax_kernel"))),
    ("code kernels/softmax/fused.py", Code(Word("kernels/softmax/fused.py"))),
    ("code fused.py:Kernel.run", Code(Word("fused.py"), Word("Kernel.run"))),
    ("diff bn64 sdpa", Diff(A, B)),
    *((str(name), Block(name)) for name in BlockName),
]

FAULTS = [
    # text, what stands at the reported place, part of the message, part of the hint
    ("", "", "expected a citation", ""),
    ("bn64.tme", "tme", "no field of a variant", "did you mean 'time'?"),
    ("bn64.spedup over sdpa", "spedup", "no field of a variant", "'speedup'"),
    ("bn64.", "", "no field of a variant", "fields are"),
    ("bn64.time.x", "x", "'time' has no parts", ""),
    ("bn64.time as implemented", "as", "nothing may follow", ""),
    ("bn64.bytes as implemnted", "implemnted", "expected 'implemented'", "'implemented'"),
    ("bn64.config.$x", "$x", "no name of a setting", ""),
    ("bn64.config.", "", "no name of a setting", ""),
    ("bn64.metric", "metric", "cited by its name", "'metric.'"),
    ("bn64.fraction of cpy", "cpy", "expected 'attainable'", "did you mean 'copy'?"),
    ("bn64.speedup", "speedup", "names its baseline", "bn64.speedup over"),
    ("bn64.speedup @ wide", "speedup", "names its baseline", "bn64.speedup over"),
    ("bn64.speedup ovr sdpa", "ovr", "expected 'over'", "did you mean 'over'?"),
    ("bn64.speedup over", "", "expected the baseline", ""),
    ("bn64.time graph", "graph", "nothing may follow", ""),
    ("bn64.time @", "", "expected a facet", ""),
    ("bn64.time @ wide,,host", ",", "expected a facet", ""),
    ("bn64.time @ wide, wide", "wide", "said before", ""),
    ("bn64.time @ all", "", "expected 'cases'", ""),
    ("bn64.time @ $x", "$x", "is no facet", ""),
    ("bn64.time + sdpa.time", "+", "nothing may follow", ""),
    ("Bn64.time", "Bn64", "no id of a variant", "small letter"),
    ("bn64", "bn64", "says not what to cite", "bn64.time"),
    ("reslt", "reslt", "says not what to cite", "did you mean 'result'?"),
    ("all.time", "all", "reserved word", ""),
    ("bn64.speedup over result", "result", "reserved word", ""),
    ("env", "env", "says not which fact", "env."),
    ("env.", "env.", "no name of a fact", ""),
    ("claim bn64 fastr than sdpa", "fastr", "no relation", "did you mean 'faster'?"),
    ("claim bn64 faster then sdpa", "then", "expected 'than'", "did you mean 'than'?"),
    ("claim bn64 status below sdpa", "status", "no order", ""),
    ("claim bn64 registers blow sdpa", "blow", "expected 'below' or 'above'", "'below'"),
    ("predicted.Bn64", "Bn64", "no id of a variant", "small letter"),
    ("predicted.a.b", "b", "named by its variant alone", ""),
    ("predicted.a vs b", "b", "expected 'measured'", ""),
    ("predicted.a vs", "", "expected 'measured'", ""),
    ("predicted.a over", "", "expected the baseline", ""),
    ("predicted.a speedup", "speedup", "nothing may follow", ""),
    ("predictd", "predictd", "says not what to cite", "did you mean 'predicted'?"),
    ("code ../secret.py", "../secret.py", "no path of a file", ""),
    ("code /etc/passwd", "/etc/passwd", "no path of a file", ""),
    ("code fused.py:a-b", "a-b", "no name in a program", ""),
    ("diff bn64", "", "expected a variant", ""),
    ("result @ wide", "@", "nothing may follow", ""),
    ("bn64 beats sdpa", "beats", "'vs'", ""),
]


@pytest.mark.parametrize(("text", "citation"), SENTENCES, ids=[text for text, _ in SENTENCES])
def test_a_sentence_of_the_grammar_is_the_citation_it_says(text, citation):
    assert parse(text) == citation


@pytest.mark.parametrize(("text", "at", "message", "hint"), FAULTS, ids=[f[0] for f in FAULTS])
def test_a_fault_is_told_at_its_place_with_a_hint(text, at, message, hint):
    with pytest.raises(CitationError) as caught:
        parse(text)
    fault = caught.value
    assert text[fault.at : fault.end] == at
    assert fault.end > fault.at
    assert message in fault.message
    assert hint in fault.hint


def test_every_word_knows_its_offset():
    text = " claim bn64  metric.error below sdpa @ wide,host"
    claim = parse(text)
    assert isinstance(claim, Claim)
    assert claim.measure.name is not None
    words = [claim.variant, claim.other, claim.measure.name, *claim.facets.words]
    assert [text[word.at : word.end] for word in words] == [word.text for word in words]
    assert text[claim.measure.at :].startswith("metric.error")


def test_equal_citations_are_equal_wherever_their_words_stand():
    assert parse("a.time @ b") == parse("  a.time   @b ")
    assert hash(parse("a.time @ b")) == hash(parse("  a.time   @b "))


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_no_variant_can_bear_a_reserved_word(word):
    with pytest.raises(CitationError):
        parse(f"a.speedup over {word}")


def test_a_long_word_is_not_guessed_at():
    assert nearest("time" * 5000, ["time"]) == ""


def assert_parses_or_faults_within(text):
    try:
        parse(text)
    except CitationError as fault:
        span = (fault.at, fault.end)
    else:
        return
    assert 0 <= span[0] < span[1] <= len(text) + 1


@given(st.text(max_size=60))
def test_any_text_is_a_citation_or_a_fault_within_it(text):
    assert_parses_or_faults_within(text)


@given(
    st.lists(
        st.sampled_from(
            ["claim", "a", "b", "a.time", "a.speedup", "over", "@", ",", "vs", "than", "all", "env"]
        ),
        max_size=8,
    )
)
def test_any_row_of_words_is_a_citation_or_a_fault_within_it(words):
    text = " ".join(words)
    assert_parses_or_faults_within(text)
