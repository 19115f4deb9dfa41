"""The fourth verb: sources and evidence become the views of every page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from writeup import (
    addresses,
    blocks,
    derive,
    document,
    dossier,
    exhibits,
    explain,
    methodology,
    naming,
    predictions,
    source,
    staleness,
    views,
)
from writeup.config import Config
from writeup.document import Literal, Placed
from writeup.language import Block
from writeup.result import Artifact, Run
from writeup.sources import Sources
from writeup.staleness import Stale
from writeup.told import Told

UNMEASURED = views.Verdict(views.Tone.BLANK, "not measured yet")
UNCOMPARED = views.Verdict(views.Tone.BLANK, "recorded, nothing compared")
_UNTOLD = "No story has been written of this yet: the page is made from the record alone."


@dataclass(frozen=True, slots=True)
class Composed:
    """The views of all pages, and the files that stand beside them as they are.

    places gives the position of each citation by page and key; links that of each link
    typed in a story by page and destination.
    """

    site: views.Site
    files: Mapping[str, bytes]
    places: Mapping[tuple[str, str], str]
    links: Mapping[tuple[str, str], tuple[str, int, int]]


def compose(sources: Sources, told: Mapping[str, Told]) -> Composed:
    """Every page of the site."""
    stories = {
        subject: views.Link(_plain_title(each), addresses.story(subject))
        for subject, each in told.items()
    }
    tables = {c: dossier.samples_table(a) for c, a in sources.artifacts.items()}
    stale = staleness.stale_runs(sources.artifacts.values(), sources.today)
    pages: list[views.Page] = [_home(sources, told, stale)]
    pages += [_story(each, stale) for each in told.values()]
    pages += [
        dossier.page(
            artifact,
            sources.contents[commit],
            tables[commit],
            _citing(told, artifact),
            stories,
            stale,
        )
        for commit, artifact in sources.artifacts.items()
    ]
    pages += _source_pages(sources)
    pages += [_literals(sources, told), _method(), views.NotFound()]
    config = sources.config
    files: dict[str, bytes] = {".nojekyll": b"", **sources.images}
    for commit in sources.artifacts:
        files[f"results/{commit}/artifact.json"] = sources.contents[commit]
        files[f"results/{commit}/samples.csv"] = tables[commit]
    return Composed(
        views.Site(
            config.title,
            config.description or config.title,
            tuple(pages),
            config.base_url,
            relaxed=not config.strict,
        ),
        files,
        dict(_places(told)),
        {
            (addresses.story(subject), link.destination): (each.story.path, link.line, link.column)
            for subject, each in told.items()
            for link in each.story.links
        },
    )


# Words of a story.


def _words(each: Told, piece: Placed | Literal) -> views.Words:
    """What stands in the place of a citation or a literal, inline."""
    if isinstance(piece, Literal):
        place = f"{each.story.path}:{piece.line}:{piece.column}"
        return derive.literal(place, piece.text, piece.reason)
    found = each.resolved.get(piece)
    if found is None or isinstance(found.words, (views.CodeBlock, views.DiffBlock)):
        return "not measured yet"
    return found.words


def _pieces(each: Told, pieces: tuple[document.Piece, ...]) -> views.Words:
    words: list[views.Piece] = []
    for piece in pieces:
        found = piece if isinstance(piece, str) else _words(each, piece)
        words += found if isinstance(found, tuple) else (found,)
    return tuple(words)


def _plain_title(each: Told) -> views.Words:
    if each.setting is not None and not each.story.front.title:
        return exhibits.named(each.setting.artifact, each.subject)
    return _pieces(each, each.story.front.title)


def _body(each: Told, pen: views.Pen) -> str:
    return document.to_html(
        each.story,
        evidence_html=lambda piece: pen.draw(_words(each, piece)),
        evidence_text=lambda piece: pen.plain(_words(each, piece)),
        block_html=lambda placed: pen.draw(_block(each, placed)),
    )


def _block(each: Told, placed: Placed) -> views.Words | views.Block:
    if isinstance(placed.citation, Block):
        if each.scene is not None:
            # What a part lacks is a problem already, which a relaxed build carries.
            try:
                return blocks.MAKERS[placed.citation.name](each.scene)
            except blocks.Lacking as lacking:
                return str(lacking)
        if each.setting is not None:
            return blocks.BARE_MAKERS[placed.citation.name](each.setting)
        return "This part is written when something has been measured."
    found = each.resolved.get(placed)
    return found.words if found is not None else "not measured yet"


# Pages.


def _home(sources: Sources, told: Mapping[str, Told], stale: Mapping[str, Stale]) -> views.Home:
    config = sources.config
    foreseen = [
        prediction
        for subject, each in told.items()
        if (setting := each.scene or each.setting) is not None
        for prediction in predictions.of(
            setting.artifact,
            setting.run,
            subject,
            views.Link(_plain_title(each), addresses.story(subject)),
        )
    ]
    return views.Home(
        title=config.title,
        description=config.description,
        stories=tuple(_card(subject, each, stale) for subject, each in told.items()),
        artifacts=tuple(_shelf(artifact, stale) for artifact in sources.artifacts.values()),
        predictions=tuple(sorted(foreseen, key=predictions.missed, reverse=True)),
    )


def _card(subject: str, each: Told, stale: Mapping[str, Stale]) -> views.Card:
    setting = each.scene or each.setting
    if setting is None:
        return views.Card(
            _plain_title(each),
            addresses.story(subject),
            _pieces(each, each.story.front.description),
            UNMEASURED,
        )
    run, artifact = setting.run, setting.artifact
    return views.Card(
        title=_plain_title(each),
        page=addresses.story(subject),
        description=_pieces(each, each.story.front.description),
        verdict=_verdict(each),
        device=derive.fact(artifact, run.pointer + "/environment/device/name", "device"),
        date=derive.date(artifact, run.pointer + "/started", "start"),
        conditions=_conditions(each),
        stale=_outdated(each, stale),
    )


def _outdated(each: Told, stale: Mapping[str, Stale]) -> views.Verdict | None:
    """That a story is stale, and why: what several runs have in common is said once."""
    sentences = dict.fromkeys(
        sentence
        for _, run in _runs(each)
        if run.address in stale
        for sentence in exhibits.outdated(run, stale[run.address])
    )
    if not sentences:
        return None
    words: list[views.Piece] = []
    for sentence in sentences:
        words += [" ", *sentence] if words else sentence
    return views.Verdict(views.Tone.UNCLEAR, "stale", tuple(words))


def _runs(each: Told) -> Iterator[tuple[Artifact, Run]]:
    """Every run that the page of a story rests on: that of its blocks first, then those cited."""
    setting = each.scene or each.setting
    found = {setting.run.address: (setting.artifact, setting.run)} if setting else {}
    for resolved in each.resolved.values():
        for row in resolved.rows:
            found.setdefault(row.run.address, (row.artifact, row.run))
    yield from found.values()


def _verdict(each: Told) -> views.Verdict:
    if each.scene is not None:
        return exhibits.verdict(each.scene.headline, each.scene.baseline)
    return UNMEASURED if each.setting is None else UNCOMPARED


def _conditions(each: Told) -> views.Words:
    """Where the headline plays, how far it reaches, and who tells it."""
    words: list[views.Piece] = []
    scene = each.scene
    if scene is not None:
        words += [
            exhibits.named(scene.artifact, scene.case.id), ", ",
            exhibits.named(scene.artifact, scene.mode), "; ",
            *exhibits.reach(scene.headline, scene.baseline),
        ]  # fmt: skip
    if each.setting is not None:
        words += ["; " if words else "", "told by its record alone"]
    return tuple(words)


def _shelf(artifact: Artifact, stale: Mapping[str, Stale]) -> views.Shelf:
    runs = list(artifact.runs.values())
    first = runs[0]
    subjects = sorted({case.subject for run in runs for case in run.cases.values()})
    return views.Shelf(
        commit=views.Code(derive.short(artifact.commit)),
        page=addresses.result(artifact.commit),
        subjects=_joined([exhibits.named(artifact, subject) for subject in subjects]),
        devices=derive.fact(artifact, first.pointer + "/environment/device/name", "device"),
        date=derive.date(artifact, first.pointer + "/started", "start"),
        runs=derive.count([run.address for run in runs], "runs"),
        stale=_aged(runs, stale),
    )


def _aged(runs: list[Run], stale: Mapping[str, Stale]) -> views.Verdict | None:
    """That the runs of an artifact are stale; how many, where others are not."""
    old = [run.address for run in runs if run.address in stale]
    if not old:
        return None
    word: views.Words = "stale"
    if len(old) < len(runs):
        word = (derive.count(old, "stale runs"), " stale")
    return views.Verdict(views.Tone.UNCLEAR, word)


def _joined(items: list[views.Code]) -> views.Words:
    words: list[views.Piece] = []
    for item in items:
        words += [", ", item] if words else [item]
    return tuple(words)


def _story(each: Told, stale: Mapping[str, Stale]) -> views.Story:
    setting = each.scene or each.setting
    front = each.story.front
    return views.Story(
        path=addresses.story(each.subject),
        title=_plain_title(each),
        description=_pieces(each, front.description),
        audience=_pieces(each, front.audience),
        body=partial(_body, each),
        verdict=_verdict(each),
        facts=_story_facts(each),
        contents=tuple(
            views.Heading(_pieces(each, heading.pieces), heading.slug)
            for heading in each.story.headings
            if heading.level == 2
        ),
        notices=tuple(_notices(each, stale)),
        record=views.Link("the record", addresses.result(setting.artifact.commit), setting.run.id)
        if setting
        else None,
    )


def _notices(each: Told, stale: Mapping[str, Stale]) -> Iterator[views.Notice]:
    """What a reader must know first: that nothing is measured, or told; what is stale; drifts."""
    if each.blank:
        text = "Nothing of this story has been measured yet: it is a plan."
        yield views.Notice(text, views.Tone.BLANK)
    if each.setting is not None:
        yield views.Notice(_UNTOLD, views.Tone.BLANK)
    for artifact, run in _runs(each):
        if run.address in stale:
            yield exhibits.stale(artifact, run, stale[run.address])
    setting = each.scene or each.setting
    if setting is not None:
        yield from exhibits.drifts(setting.artifact, setting.run)


def _story_facts(each: Told) -> tuple[views.Fact, ...]:
    setting = each.scene or each.setting
    if setting is None:
        return ()
    artifact, run = setting.artifact, setting.run
    facts = [
        views.Fact(
            "device", derive.fact(artifact, run.pointer + "/environment/device/name", "device")
        ),
        views.Fact("measured", derive.date(artifact, run.pointer + "/started", "start")),
        views.Fact("commit", views.Code(derive.short(artifact.commit))),
    ]
    scene = each.scene
    if scene is not None:
        facts += [
            views.Fact("baseline", exhibits.named(artifact, scene.baseline.variant.id)),
            views.Fact("headline", exhibits.reach(scene.headline, scene.baseline)),
        ]
    earlier = tuple(_other_runs(each)) if each.setting is not None else ()
    if earlier:
        facts.append(views.Fact("other runs", earlier))
    return tuple(facts)


def _other_runs(each: Told) -> Iterator[views.Piece]:
    """Links to the runs of a subject that its page does not tell of, the newest first."""
    told = {row.run.address for row in each.focus}
    others = {row.run.address: row for row in each.record if row.run.address not in told}
    newest_first = sorted(others.values(), key=lambda row: row.run.started, reverse=True)
    for index, row in enumerate(newest_first):
        yield from (", ",) if index else ()
        yield views.Link(
            exhibits.named(row.artifact, row.run.id),
            addresses.result(row.artifact.commit),
            row.run.id,
        )


def _citing(told: Mapping[str, Told], artifact: Artifact) -> tuple[views.Link, ...]:
    """The stories that rest on an artifact."""
    return tuple(
        views.Link(_plain_title(each), addresses.story(subject))
        for subject, each in told.items()
        if any(
            row.artifact.commit == artifact.commit
            for resolved in each.resolved.values()
            for row in resolved.rows
        )
    )


def _source_pages(sources: Sources) -> Iterator[views.Source]:
    """A page for each file as it was measured; one text may have had several paths."""
    used: dict[str, dict[str, list[Artifact]]] = {}
    for artifact in sources.artifacts.values():
        for run in artifact.runs.values():
            for path, blob in run.files.items():
                users = used.setdefault(blob, {}).setdefault(path, [])
                if artifact not in users:
                    users.append(artifact)
    for blob, paths in sorted(used.items()):
        yield _source_page(blob, sources.objects[blob], paths)


def _source_page(blob: str, content: bytes, paths: Mapping[str, list[Artifact]]) -> views.Source:
    text = content.decode("utf-8", "replace")
    lines = source.lines_of(text)
    path, users = next(iter(sorted(paths.items())))
    name = derive.name(users[0].commit, path)
    listing = views.Listing(
        derive.listing(blob, 1, len(lines), "\n".join(lines)),
        views.Code(name),
        source.language_of(path),
        1,
        addresses.source(blob),
    )
    return views.Source(
        path=addresses.source(blob),
        title=views.Code(name),
        description=(name, " as it was measured"),
        listing=listing,
        facts=(views.Fact("blob", derive.blob(blob)),),
        used_by=tuple(
            views.Link(
                ("results of ", derive.short(artifact.commit)), addresses.result(artifact.commit)
            )
            for artifacts in paths.values()
            for artifact in artifacts
        ),
    )


def _literals(sources: Sources, told: Mapping[str, Told]) -> views.Literals:
    literals = [
        views.Literal(
            _words(each, literal),
            literal.reason,
            (views.Link(_plain_title(each), addresses.story(subject)),),
        )
        for subject, each in told.items()
        for literal in each.story.literals
    ]
    terms = naming.glossary(sources.config.glossary, sources.stories.values())
    return views.Literals(
        title="Digits that are no results",
        description="Digits that an author typed for a reason, and names that hold digits. "
        "Versions, seeds and predictions come from the record; ticks and counters from the "
        "generator.",
        literals=tuple(literals),
        names=tuple(
            views.Literal(views.Code(derive.term(word)), reason)
            for word, reason in sorted(terms.items())
        ),
        blind_spots=(*methodology.BLIND_SPOTS, *_silenced(sources.config)),
    )


def _silenced(config: Config) -> Iterator[views.Words]:
    """Rules that the project's configuration lowers or ignores, with its reasons."""
    for ignore in config.ignore:
        yield (
            "The rule ", views.Code(ignore.rule), " is ignored at ", views.Code(ignore.path),
            f": {ignore.reason}",
        )  # fmt: skip
    for rule, weight in sorted(config.severity.items()):
        yield ("The rule ", views.Code(rule), f" is told as {weight} here.")


def _method() -> views.Method:
    return views.Method(
        title="Method",
        description="How a time, a band, a verdict and a ceiling are made here, and what the "
        "build refuses.",
        chapters=methodology.chapters(),
        rules=tuple(
            views.Chapter(rule.id, rule.title, partial(_rule_body, rule), rule.refuses)
            for rule in explain.rules().values()
        ),
    )


def _rule_body(rule: explain.Rule, pen: views.Pen) -> str:
    page = document.parse_page(rule.body, f"rules/{rule.id}.md", prefix=f"{rule.id}-", below=3)

    def said(piece: Placed | Literal) -> views.Words:
        if isinstance(piece, Literal):
            return derive.literal(f"{page.path}:{piece.line}", piece.text, piece.reason)
        return piece.text

    return document.to_html(
        page,
        evidence_html=lambda piece: pen.draw(said(piece)),
        evidence_text=lambda piece: pen.plain(said(piece)),
        block_html=lambda placed: pen.draw(said(placed)),
    )


def _places(told: Mapping[str, Told]) -> Iterator[tuple[tuple[str, str], str]]:
    """Where each evidence of a story was cited first, by page and key."""
    seen: set[tuple[str, str]] = set()
    for subject, each in told.items():
        page = addresses.story(subject)
        for placed, resolved in each.resolved.items():
            if isinstance(resolved.words, (views.CodeBlock, views.DiffBlock)):
                continue
            for evidence in views.evidence(resolved.words):
                if (page, evidence.key) not in seen:
                    seen.add((page, evidence.key))
                    place = f"{each.story.path}:{placed.line}:{placed.column}"
                    yield (page, evidence.key), place
