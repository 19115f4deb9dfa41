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
    source,
    views,
)
from writeup.config import Config
from writeup.document import Literal, Placed
from writeup.language import Block
from writeup.result import Artifact
from writeup.sources import Sources
from writeup.told import Told

UNMEASURED = views.Verdict(views.Tone.BLANK, "not measured yet")


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
    pages: list[views.Page] = [_home(sources, told)]
    pages += [_story(each) for each in told.values()]
    pages += [
        dossier.page(
            artifact,
            sources.contents[commit],
            tables[commit],
            _citing(told, artifact),
            stories,
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
        if each.scene is None:
            return "This part is written when something has been measured."
        return blocks.MAKERS[placed.citation.name](each.scene)
    found = each.resolved.get(placed)
    return found.words if found is not None else "not measured yet"


# Pages.


def _home(sources: Sources, told: Mapping[str, Told]) -> views.Home:
    config = sources.config
    predictions = [
        prediction
        for subject, each in told.items()
        if each.scene is not None
        for prediction in blocks.predictions(
            each.scene, views.Link(_plain_title(each), addresses.story(subject))
        )
    ]
    return views.Home(
        title=config.title,
        description=config.description,
        stories=tuple(_card(subject, each) for subject, each in told.items()),
        artifacts=tuple(_shelf(artifact) for artifact in sources.artifacts.values()),
        predictions=tuple(sorted(predictions, key=_missed, reverse=True)),
    )


def _missed(prediction: views.Prediction) -> float:
    """How far a prediction was off, as a factor of at least one; unmeasured ones come last."""
    predicted = prediction.predicted.value
    if prediction.measured is None or not isinstance(predicted, (int, float)):
        return 0.0
    factor = float(predicted) / prediction.measured.value
    return max(factor, 1 / factor)


def _card(subject: str, each: Told) -> views.Card:
    scene = each.scene
    if scene is None:
        return views.Card(
            _plain_title(each),
            addresses.story(subject),
            _pieces(each, each.story.front.description),
            UNMEASURED,
        )
    return views.Card(
        title=_plain_title(each),
        page=addresses.story(subject),
        description=_pieces(each, each.story.front.description),
        verdict=exhibits.verdict(scene.headline, scene.baseline),
        device=derive.fact(
            scene.artifact, scene.run.pointer + "/environment/device/name", "device"
        ),
        date=derive.date(scene.artifact, scene.run.pointer + "/started", "start"),
        conditions=(
            exhibits.named(scene.artifact, scene.case.id),
            ", ",
            exhibits.named(scene.artifact, scene.mode),
            "; ",
            *exhibits.reach(scene.headline, scene.baseline),
        ),
    )


def _shelf(artifact: Artifact) -> views.Shelf:
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
    )


def _joined(items: list[views.Code]) -> views.Words:
    words: list[views.Piece] = []
    for item in items:
        words += [", ", item] if words else [item]
    return tuple(words)


def _story(each: Told) -> views.Story:
    scene = each.scene
    front = each.story.front
    notices = []
    if each.blank:
        text = "Nothing of this story has been measured yet: it is a plan."
        notices.append(views.Notice(text, views.Tone.BLANK))
    if scene is not None:
        notices += exhibits.drifts(scene.artifact, scene.run)
    return views.Story(
        path=addresses.story(each.subject),
        title=_plain_title(each),
        description=_pieces(each, front.description),
        audience=_pieces(each, front.audience),
        body=partial(_body, each),
        verdict=exhibits.verdict(scene.headline, scene.baseline) if scene else UNMEASURED,
        facts=_story_facts(each),
        contents=tuple(
            views.Heading(_pieces(each, heading.pieces), heading.slug)
            for heading in each.story.headings
            if heading.level == 2
        ),
        notices=tuple(notices),
        record=views.Link("the record", addresses.result(scene.artifact.commit), scene.run.id)
        if scene
        else None,
    )


def _story_facts(each: Told) -> tuple[views.Fact, ...]:
    scene = each.scene
    if scene is None:
        return ()
    artifact, run = scene.artifact, scene.run
    return (
        views.Fact(
            "device", derive.fact(artifact, run.pointer + "/environment/device/name", "device")
        ),
        views.Fact("measured", derive.date(artifact, run.pointer + "/started", "start")),
        views.Fact("commit", views.Code(derive.short(artifact.commit))),
        views.Fact("baseline", exhibits.named(artifact, scene.baseline.variant.id)),
        views.Fact("headline", exhibits.reach(scene.headline, scene.baseline)),
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
            for path, blob in run.raw.get("sources", {}).get("files", {}).items():
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
