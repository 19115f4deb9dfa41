"""No rule is satisfied by saying the same in other words.

For each rule, what an author in a hurry would try: synonyms, other letters, other markup,
other places, fields that are filled and say nothing. What is refused here stays refused.
"""

import json

import pytest

from tests.cases import worlds
from tests.worlds import COMMIT, RUN
from writeup import build
from writeup.errors import Problems

ARTIFACT = f"results/{COMMIT}.json"
PROSE = "Each row is normalised on its own."


@pytest.fixture
def told(tmp_path):
    """What is wrong with a world of a changed story and record: (rule, line, column) of each."""

    def check(story=(), record=None, over=None, files=None):
        world = worlds.contents(over and worlds.CASES / over)
        text = world[worlds.STORY].decode()
        for before, after in story:
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        world[worlds.STORY] = text.encode()
        if record is not None:
            document = json.loads(world[ARTIFACT])
            record(document["runs"][RUN])
            world[ARTIFACT] = json.dumps(document, indent=1, sort_keys=True).encode()
        folder = worlds.lay(tmp_path, {**world, **(files or {})})
        try:
            site = build.build(build.configuration(folder))
        except Problems as error:
            return [(p.rule, p.line, p.column) for p in error.problems]
        assert site.files
        return [(p.rule, p.line, p.column) for p in site.problems]

    return check


def rules(problems):
    return {rule for rule, *_ in problems}


AS_STORY = ('kind = "study"', 'kind = "story"')


# Numbers that somebody typed.


@pytest.mark.parametrize(
    "words",
    [
        "It takes 1&#46;6 ms.",
        "It takes &#49;.6 ms.",
        "It takes one and a half milliseconds.",
        "It takes one point six ms.",
        "It gains a factor of two.",
        "It is a factor of three apart.",
        "It is TWICE the baseline.",
        "It is tw*i*ce the baseline.",
        "It is tw**ic**e the baseline.",
        "It is twi\\\nce".replace("\\\n", "") + " the baseline.",
        "It is thrice the baseline.",
        "It needs half the time.",
        "It needs a third of the time.",
        "It needs two thirds of the time.",
        "It doubles the rate.",
        "It quadrupled the rate.",
        "A two-fold gain.",
        "A two‑fold gain.",
        "A threefold gain.",
        "A many-fold gain.",
        "It gains an order of magnitude.",
        "It gains orders of magnitude.",
        "It gains sixty per cent.",
        "It gains sixty percent.",
        "It gains ⅓.",
        "It gains ②.",
        "It gains Ⅳ.",
        "It gains 🄂.",
        "It gains ４ ms.",
        "It gains ४ ms.",
        "It gains 四倍。",
        "It gains 2️⃣.",
        "`1.6` is what it gains.",
        "    1.6 is what it gains",
        "```\n1.6 is what it gains\n```",
        "<!-- 1.6 is what it gains -->",
        "<b>1.6</b> is what it gains.",
        "> - 1.6 is what it gains.",
        "| gain |\n|---|\n| 1.6 |",
        "| 1.6 |\n|---|\n| gain |",
        "### 1.6 is what it gains",
        "1.6 is what it gains\n---",
        '[a gain](#problem "of 1.6")',
        "[a gain of 1.6](#problem)",
        "[a gain][g]\n\n[g]: #problem 'of 1.6'",
        "7. is what it gains",
        "It gains [1.6 ms]{.literal reason='a count'}.",
        "It gains [2]{.literal reason='a count'} times.",
        "It gains [2]{.literal reason='a count'}\ntimes.",
        "It gains [2]{.literal reason='a count'} *times*.",
        "It gains [2]{.literal reason='a count'}&times;.",
        "It gains a factor of [2]{.literal reason='a count'}.",
        "It gains ×[2]{.literal reason='a count'}.",
        "It gains [2]{.literal reason='2 is what it gains'}.",
        "It gains [2]{.literal reason=' '}.",
        "It gains {{ chunked.speedup over eager }}0.",
        "It gains two {{ chunked.time }}, as {{ eager.time }} shows; in all three ms.",
    ],
)
def test_a_typed_number_in_other_clothes(told, words):
    assert "typed-number" in rules(told([(PROSE, words)]))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('title = "Softmax over rows"', 'title = "Softmax in half the time"'),
        ('title = "Softmax over rows"', "title = '''Softmax,\ntwice the rate'''"),
        ('title = "Softmax over rows"', 'title = "Softmax, \\u0031.6"'),
        ('audience = "whoever', 'audience = "two thirds of whoever'),
        ("## Problem", "## Problem, *one* point six ms"),
    ],
)
def test_a_typed_number_in_a_title(told, before, after):
    assert rules(told([(before, after)])) == {"typed-number"}


@pytest.mark.parametrize(
    "text",
    [
        "a gain of 1.6",
        "twice the rate",
        "tenfold",
        "an order of magnitude",
        "half the time",
        "二倍",
    ],
)
@pytest.mark.parametrize(
    "where",
    [
        ("experiments", "softmax", "limiter"),
        ("experiments", "softmax", "cannot_conclude"),
        ("experiments", "softmax", "title"),
        ("cases", "softmax.wide", "what"),
        ("cases", "softmax.wide", "variants", "chunked", "what"),
        ("cases", "softmax.wide", "variants", "chunked", "idea"),
        ("cases", "softmax.wide", "variants", "chunked", "backend"),
        ("cases", "softmax.wide", "variants", "fused", "reason", "text"),
    ],
)
def test_a_typed_number_in_the_words_of_a_record(told, where, text):
    def edit(run):
        *path, last = where
        for key in path:
            run = run[key]
        run[last] = f"memory, and {text} in all"

    assert rules(told(record=edit)) == {"typed-number"}


# Comparisons in words.

BARE = [
    "`chunked` is faster than `eager`.",
    "`chunked` is FASTER than `eager`.",
    "`chunked` is fas*ter* than `eager`.",
    "`chunked` is **fast**er than `eager`.",
    "`chunked` is fas&#116;er than `eager`.",
    "`chunked` is ｆａｓｔｅｒ than `eager`.",
    "`chunked` is f\u0430st\u0435r than `eager`.",
    "`chunked` is `faster`.",
    "ch*unk*ed is faster.",
    "Chunked is faster.",
    "The chunked small variant is faster.",
    "`chunked` reads once. It is faster.",
    "`chunked` reads once. That wins.",
    "`chunked` reads once.\nThe gain is clear: it wins.",
    "It is faster.",
    "A single pass is faster.",
    "The single pass wins: it is the best kernel.",
    "Ours beats torch.",
    "We beat the baseline.",
    "Softmax done right is quicker.",
    "Softmax done right runs more quickly.",
    "The kernel is the fastest there is.",
    "The kernel is as fast as torch.",
    "The kernel is on par with torch.",
    "The kernel keeps up with cuDNN.",
    "The kernel outperforms torch.",
    "The kernel out-performs torch.",
    "The kernel outpaces, outruns and outclasses torch.",
    "The kernel leaves torch behind.",
    "The kernel leaves torch in the dust.",
    "The kernel is ahead of torch.",
    "The kernel edges out torch.",
    "The kernel surpasses torch.",
    "The kernel dominates.",
    "The kernel is superior to torch.",
    "The kernel takes less time.",
    "The kernel needs less than {{ eager.time }}.",
    "The kernel takes much longer.",
    "The kernel has lower latency.",
    "The kernel reduces the run time.",
    "The kernel cuts latency.",
    "The kernel improves on torch.",
    "The kernel saves time.",
    "The kernel speeds up softmax.",
    "The kernel sped up softmax.",
    "The kernel brings a speed-up.",
    "The kernel brings a huge speedup.",
    "The kernel is state of the art.",
    "The kernel is best-in-class.",
    "The kernel is unbeaten.",
    "The kernel is several times as quick.",
    "The kernel is more efficient.",
    "The kernel is the best.",
    "The kernel gains up to {{ chunked.speedup over eager }}.",
    "At {{ chunked.time }}, up to the best of {{ eager.time }}, all is said.",
    "{{ chunked.speedup over eager }} faster.",
    "{{ chunked vs eager }}, and it is faster everywhere.",
    "{{ claim chunked faster than eager @ wide, host }}; it wins on all others, too.",
    "### A faster kernel",
    "A faster kernel\n---",
    "> - Our kernel is faster.",
    "| kernel | verdict |\n|---|---|\n| chunked | faster |",
    "| faster |\n|---|\n| chunked |",
    '[chunked](#problem "is faster")',
    "[chunked is faster](#problem)",
    "[chunked][c]\n\n[c]: #problem 'is faster'",
    "![chunked is faster](a.png)",
    '![chunked](a.png "is faster")',
    "<!-- chunked is faster -->",
    "<b>chunked</b> is faster.",
    "```\nchunked is faster\n```",
    "    chunked is faster",
    "- chunked\n- is faster",
    "It gains [a]{.literal reason='chunked is faster'}.",
]


@pytest.mark.parametrize("words", BARE)
def test_a_comparison_in_other_words(told, words):
    picture = {"kernels/softmax/a.png": b"\x89PNG\r\n\x1a\n"}
    assert "bare-comparative" in rules(told([(PROSE, words)], over="bare", files=picture))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('title = "Softmax over rows"', 'title = "A faster softmax"'),
        ('title = "Softmax over rows"', 'title = "Beating torch at softmax"'),
        ('title = "Softmax over rows"', 'title = "The best softmax kernel"'),
        ('title = "Softmax over rows"', 'title = "A softmax that out\\u0070erforms"'),
        ('description = "What a single pass', 'description = "Why it wins: a single pass'),
        ('description = "What a single pass', 'description = "A faster single pass'),
    ],
)
def test_a_comparison_in_a_title(told, before, after):
    assert rules(told([(before, after)], over="bare")) == {"bare-comparative"}


@pytest.mark.parametrize(
    "words",
    [
        "Rows up to the width of a cache are read once.",
        "Longer rows no longer fit, and later operations find less of them.",
        "What is won in registers is lost in occupancy.",
        "The lower one of the two ceilings binds, and more rows are under way.",
        "A sum is better conditioned than a product.",
        "Whoever is the loser of a race comes last.",
        "Rows of the same length cost the same bytes, as many as there are.",
    ],
)
def test_prose_about_other_things_is_left_alone(told, words):
    assert told([(PROSE, words)], over="bare") == []


# Baselines.


@pytest.mark.parametrize("field", ["expression", "backend", "rounding"])
@pytest.mark.parametrize(
    "text",
    [
        "default",
        "Default.",
        "n/a",
        "—",
        "…",
        "unknown",
        "see above",
        "As usual",
        "the standard one",
    ],
)
def test_a_baseline_named_by_words_that_name_nothing(told, field, text):
    def edit(run):
        for case in run["cases"].values():
            case["variants"]["eager"][field] = text

    cited = [(PROSE, "It gains {{ chunked.speedup over eager }}.")]
    assert rules(told(cited, edit)) == {"unnamed-baseline"}


@pytest.mark.parametrize(
    "expression",
    [
        "F.scaled_dot_product_attention(q, k, v)",
        "torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)",
        "sdpa(q, k, v)",
        "SDPA",
    ],
)
@pytest.mark.parametrize("backend", ["ATen, CUDA", "whichever SDPA chooses", "fused attention"])
def test_attention_whose_backend_is_left_to_chance(told, expression, backend):
    def edit(run):
        for case in run["cases"].values():
            case["variants"]["eager"] |= {"expression": expression, "backend": backend}

    assert rules(told([], edit)) == {"unnamed-baseline"}


# Comparability.


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"precision": "tf32"}, {}),
        ({"config": {"precision": "tf32"}}, {"precision": "ieee"}),
        ({"config": {"input_precision": "tf32"}}, {"config": {"allow_tf32": False}}),
        ({"config": {"input_precision": "tf32"}}, {"precision": "ieee"}),
        ({"config": {"autocast": "bfloat16"}}, {}),
        ({"dtype": "bfloat16"}, {}),
        ({"config": {"dtype": "bfloat16"}}, {}),
        ({"config": {"batch_size": 8}}, {"config": {"batch": 8}}),
        ({"devices": 2}, {}),
        ({"config": {"devices": 2}}, {}),
    ],
)
@pytest.mark.parametrize("varies", [[], ["case", "mode", "run"], ["rounding", "backend"]])
def test_a_difference_that_is_recorded_elsewhere_or_on_one_side_alone(told, first, second, varies):
    def edit(run):
        run["experiments"]["softmax"]["varies"] = varies
        variants = run["cases"]["softmax.wide"]["variants"]
        variants["chunked"] |= first
        variants["eager"] |= second

    cited = [(PROSE, "It gains {{ chunked.speedup over eager }}.")]
    assert rules(told(cited, edit, over="bare")) == {"incomparable"}


@pytest.mark.parametrize("block", ["steps", "attempts", "result"])
def test_a_ratio_that_a_block_shows_instead_of_a_citation(told, block):
    def edit(run):
        for case in run["cases"].values():
            case["variants"]["chunked"]["precision"] = "tf32"

    found = told([(PROSE, f"{{{{ {block} }}}}")], edit, over="bare")
    assert rules(found) == {"incomparable"}


# Claims.


@pytest.mark.parametrize(
    "claim",
    [
        "unrolled faster than eager",
        "eager slower than unrolled",
        "unrolled throughput above eager",
        "unrolled bandwidth above eager",
        "unrolled fraction of copy above eager",
        "unrolled min below eager",
        "unrolled max below eager",
        "eager max above unrolled",
        "borderline faster than eager",
        "borderline same as eager",
        "borderline throughput above eager",
        "chunked same as compiled",
        "compiled same as chunked",
        "chunked throughput below eager",
    ],
)
def test_a_claim_that_the_samples_do_not_bear_out_in_other_words(told, claim):
    found = told([(PROSE, f"{{{{ claim {claim} @ wide, host }}}}.")], over="bare")
    assert rules(found) == {"unresolved-claim"}


# What a story leaves out.


@pytest.mark.parametrize(
    "result",
    [
        "",
        "Softmax is done.",
        "    {{ result }}",
        "```\n{{ result }}\n```",
        "`{{ result }}`",
        r"\{{ result }}",
        "{{ Result }}",
        "{{ results }}",
        "{{ result @ wide }}",
        "{{ result @ wide, host }}",
        "{{ result wide }}",
        "{{result,wide}}",
        "{{ chunked vs eager @ wide, host }}",
    ],
)
def test_a_result_block_that_is_no_whole_block(told, result):
    assert "hidden-loss" in rules(told([AS_STORY, ("{{ result }}", result)]))


@pytest.mark.parametrize(
    "result",
    [
        "<!-- {{ result }} -->",
        "See {{ result }}",
        "{{ result }} and more",
        "| {{ result }} |\n|---|",
    ],
)
def test_a_block_within_other_words_is_refused(told, result):
    assert rules(told([AS_STORY, ("{{ result }}", result)])) == {"unknown-citation"}


@pytest.mark.parametrize("result", ["> {{ result }}", "- {{ result }}", "1. {{ result }}"])
def test_a_block_in_a_quote_or_list_is_shown_whole(tmp_path, result):
    def page(text):
        world = worlds.contents()
        story = world[worlds.STORY].decode().replace(*AS_STORY).replace("{{ result }}", text)
        name = f"world-{len(list(tmp_path.iterdir()))}"
        folder = worlds.lay(tmp_path / name, {**world, worlds.STORY: story.encode()})
        return build.build(build.configuration(folder)).files["stories/softmax/index.html"].decode()

    def block(html):
        start = html.index('id="result-block"')
        return html[start : html.index("</section>", start)]

    assert block(page(result)) == block(page("{{ result }}"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('kind = "study"', 'kind = "study"\nheadline = "chunked"'),
        ('description = "What', 'description = "{{ chunked vs eager }}. What'),
        ('description = "What', 'description = "{{ chunked.speedup over eager }}. What'),
        ('title = "Softmax', 'title = "{{ claim chunked faster than eager }}: softmax'),
        ("## Result\n", "## {{ chunked vs eager }}\n"),
    ],
)
def test_a_study_with_a_headline_hides_no_loss_either(told, before, after):
    without = ("\n\n{{ result }}\n", "\n")
    if before == "## Result\n":
        without = ("{{ result }}\n", "")
    assert rules(told([(before, after), without])) == {"hidden-loss"}
    assert rules(told([(before, after)])) == set()


@pytest.mark.parametrize(
    "heading",
    [
        "## Results",
        "## Results, in order",
        "## The result",
        "## Result:",
        "## Outcome",
        "# Result",
        "### Result",
        "**Result**",
        "> ## Result",
        "- ## Result",
        "    ## Result",
        "```\n## Result\n```",
        "\\## Result",
        "##Result",
        "## `Resul`",
        "## Résultat",
    ],
)
def test_a_part_by_another_name_is_missing(told, heading):
    assert "story-order" in rules(told([AS_STORY, ("## Result", heading)]))


@pytest.mark.parametrize("heading", ["## result", "## RESULT", "## *Result*", "Result\n------"])
def test_a_part_may_be_spelt_as_one_likes(told, heading):
    assert told([AS_STORY, ("## Result", heading)]) == []


@pytest.mark.parametrize(
    "text", ["", "…", "TBD", "To be done.", "See above.", "<!---->", "### Later", "[a]: #problem"]
)
def test_a_part_that_says_nothing_is_empty(told, text):
    assert rules(told([AS_STORY, (PROSE, text)])) == {"story-order"}


@pytest.mark.parametrize(
    "attempts",
    [
        "",
        "All of it worked.",
        "```\n{{ attempts }}\n```",
        "{{ searched }}",
        "### What did not work",
    ],
)
def test_attempts_that_are_not_shown(told, attempts):
    assert "no-attempts" in rules(told([AS_STORY, ("{{ attempts }}", attempts)]))


def test_attempts_that_were_never_tried_or_won(told):
    def edit(run):
        for case in run["cases"].values():
            case["variants"]["chunked-small"]["role"] = "step"
            case["variants"]["unrolled"] |= {"role": "attempt", "parent": "chunked-small"}

    assert rules(told([AS_STORY], edit)) == {"no-attempts"}


@pytest.mark.parametrize(
    "roofline",
    ["", "![a roofline](roofline.png)", "{{ ceiling.memory }} is the ceiling.", "`{{ roofline }}`"],
)
def test_a_roofline_that_is_not_drawn(told, roofline):
    picture = {"kernels/softmax/roofline.png": b"\x89PNG\r\n\x1a\n"}
    found = told([AS_STORY, ("{{ roofline }}", roofline)], files=picture)
    assert "datasheet-ceiling" in rules(found)


@pytest.mark.parametrize(
    "edit",
    [
        lambda run: run["ceilings"].pop("memory-dram-copy"),
        lambda run: run["ceilings"]["memory-dram-copy"].update(level="l2"),
        lambda run: run["ceilings"]["memory-dram-copy"].update(regime="sustained"),
        lambda run: run["ceilings"]["compute-float32"].update(dtype="tf32"),
        lambda run: run["cases"]["softmax.wide"].pop("work"),
        lambda run: run["cases"]["softmax.wide"]["work"].pop("bytes"),
    ],
)
def test_a_ceiling_of_something_else_is_none(told, edit):
    assert rules(told([], edit)) == {"datasheet-ceiling"}


@pytest.mark.parametrize("steps", ["", "Three steps were taken.", "`{{ steps }}`"])
def test_steps_that_are_not_shown(told, steps):
    assert "step-without-measurement" in rules(told([AS_STORY, ("{{ steps }}", steps)]))


@pytest.mark.parametrize("name", [" ", "unknown", "n/a", "-", "…"])
def test_a_device_without_a_name(told, name):
    edit = lambda run: run["environment"]["device"].update(name=name)  # noqa: E731
    assert rules(told([], edit)) == {"result-incomplete"}


# What a record leaves out.


@pytest.mark.parametrize("field", ["cannot_conclude", "next"])
@pytest.mark.parametrize(
    "text",
    [
        " ",
        "Nothing.",
        "none",
        "N/A",
        "-",
        "…",
        "TBD",
        "To be determined.",
        "See above.",
        "None that we know of.",
        "There is nothing more to say.",
        "Anything and everything.",
    ],
)
def test_limits_that_are_told_by_words_that_say_nothing(told, field, text):
    edit = lambda run: run["experiments"]["softmax"].update({field: text})  # noqa: E731
    assert rules(told([], edit)) == {"not-concluded"}


@pytest.mark.parametrize(
    "fields",
    [
        {"backend": "Triton, autotuned"},
        {"backend": "Triton, Auto-Tuned"},
        {"expression": "auto tune(unrolled)(x)"},
        {"what": "a self-tuning loop"},
        {"idea": "let the autotuner decide"},
        {"tuning": {"space": {}, "tried": []}},
        {"tuning": {"space": {"n": [1, 2]}, "tried": []}},
        {"tuning": {"space": {"n": [1, 2]}, "tried": [{"config": {"n": 1}, "status": "ok"}]}},
        {
            "tuning": {
                "space": {"n": [1, 2]},
                "tried": [{"config": {"n": 1}, "status": "timeout"}],
                "chosen": {"n": 1},
            }
        },
    ],
)
def test_a_tuned_variant_that_does_not_tell_its_search(told, fields):
    edit = lambda run: run["cases"]["softmax.wide"]["variants"]["unrolled"].update(fields)  # noqa: E731
    assert rules(told([], edit)) == {"config-missing"}


@pytest.mark.parametrize(
    "decorator", ["@triton.autotune(configs=[])", "@autotune", "  @tl.autotune"]
)
def test_a_source_that_tunes_itself_whatever_the_record_calls_it(told, decorator):
    import hashlib

    text = f"import triton\n\n{decorator}\ndef softmax(x):\n    return x\n".encode()
    blob = hashlib.sha1(b"blob %d\0" % len(text) + text, usedforsecurity=False).hexdigest()

    def edit(run):
        run["sources"]["files"]["kernels/softmax/unrolled.py"] = blob
        for case in run["cases"].values():
            case["variants"]["unrolled"]["config"] = {"n": 1}

    found = told([], edit, files={f"results/objects/{blob}": text})
    assert rules(found) == {"config-missing"}


@pytest.mark.parametrize(
    "timer",
    [
        {"check": {"expected": {"value": 0, "unit": "ms"}, "measured": {"value": 0, "unit": "ms"}}},
        {
            "check": {
                "expected": {"value": 50, "unit": "ms"},
                "measured": {"value": 50, "unit": "us"},
            }
        },
        {
            "check": {
                "expected": {"value": 50, "unit": "ms"},
                "measured": {"value": 52, "unit": "ms"},
            }
        },
        {"version": "2.13.0"},
        {"version": "3.11"},
        {"name": "own.clock", "version": "1"},
    ],
)
def test_a_timer_that_is_confirmed_in_name_only(told, timer):
    def edit(run):
        check = {**run["timer"]["check"], **timer.get("check", {})}
        run["timer"] |= {**timer, "check": check}

    assert rules(told([], edit)) == {"unit-unconfirmed"}


def test_a_run_that_no_story_cites_is_judged_all_the_same(told):
    edit = lambda run: run["timer"].pop("check")  # noqa: E731
    assert rules(told([], edit, over="bare")) == {"unit-unconfirmed"}


SECOND = "20261201T0900Z-epyc"


@pytest.mark.parametrize(
    "change",
    [
        lambda experiment: experiment.update(hypothesis="Fewer passes are faster."),
        lambda experiment: experiment.update(hypothesis=experiment["hypothesis"] + " "),
        lambda experiment: experiment.pop("hypothesis"),
        lambda experiment: experiment["predicted"][0].update(ratio=1.6),
        lambda experiment: experiment["predicted"][0].pop("mode"),
        lambda experiment: experiment["predicted"][0].update(over="compiled"),
        lambda experiment: experiment["predicted"].clear(),
    ],
)
def test_a_hypothesis_that_learnt_from_its_result(tmp_path, change):
    world = worlds.contents()
    document = json.loads(world[ARTIFACT])
    later = json.loads(json.dumps(document["runs"][RUN]))
    later |= {"started": "2026-12-01T09:00:00Z", "ended": "2026-12-01T09:10:00Z"}
    change(later["experiments"]["softmax"])
    document["runs"][SECOND] = later
    world[ARTIFACT] = json.dumps(document).encode()
    text = world[worlds.STORY].decode().replace('case = "wide"', f'case = "wide"\nrun = "{RUN}"')
    folder = worlds.lay(tmp_path, {**world, worlds.STORY: text.encode()})
    with pytest.raises(Problems) as caught:
        build.build(build.configuration(folder))
    assert {p.rule for p in caught.value.problems} == {"hypothesis-late"}


def test_bytes_that_lift_a_point_above_its_roof(told):
    def edit(run):
        run["cases"]["softmax.wide"]["work"]["bytes"]["value"] *= 2

    assert rules(told([], edit)) == {"above-ceiling"}


# What should not leave the machine.


@pytest.mark.parametrize(
    "words",
    [
        "It lies in /home/ada/notes.",
        "It lies in `/home/ada/notes`.",
        "It lies in ~ada/notes.",
        "It lies in C:\\\\Users\\\\ada.",
        "```\ncd /scratch/ada/softmax\n```",
        "[notes](#problem '/home/ada/notes')",
        "Ask ada@example.org.",
        "Ask [Ada](mailto:ada@example.org 'ada@example.org').",
        "It ran at 10.1.2.3.",
        "It ran on node-7.internal.",
        "Its serial number: A1234.",
    ],
)
def test_private_data_in_a_story(told, words):
    assert "private-data" in rules(told([(PROSE, words)], over="bare"))
