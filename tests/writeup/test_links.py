import pytest

from writeup.links import broken_links

PAGES = {
    "index.html": b'<p id="top-of-it">a</p>',
    "stories/softmax/index.html": b'<h1 id="result">b</h1><img src="roofline.svg" alt="c">',
    "stories/softmax/roofline.svg": b'<svg id="s"><g id="mark"/></svg>',
    "results/c/index.html": b'<tr id="r/softmax.wide/eager/host"></tr>',
    "results/c/artifact.json": b"{}",
    "assets/a.css": b"a { background: url(b.svg) }",
    "assets/b.svg": b"<svg/>",
}


def wrong(content, page="stories/softmax/page.html", placed=None):
    pages = {**PAGES, page: content.encode()}
    return broken_links(pages, placed or {})


@pytest.mark.parametrize(
    "content",
    [
        "<a href='index.html'>x</a>",
        "<a href='./index.html#result'>x</a>",
        "<a href='../../index.html'>x</a>",
        "<a href='../../results/c/index.html#r/softmax.wide/eager/host'>x</a>",
        "<a href='../../results/c/index.html#r%2Fsoftmax.wide%2Feager%2Fhost'>x</a>",
        "<a href='../../results/c/artifact.json' download>x</a>",
        "<p id='here'><a href='#here'>x</a> <a href='#'>y</a> <a href='#top'>z</a></p>",
        "<a href='https://example.org/5?a=1&amp;b#c'>x</a>",
        "<a href='mailto:a@example.org'>x</a>",
        "<img srcset='roofline.svg 1x, roofline.svg 2x' src='roofline.svg'>",
        "<link rel='stylesheet' href='../../assets/a.css'>",
        "<link rel='canonical' href='https://example.org/'>",
        "<svg><g id='m'/><use href='#m'/><path clip-path='url(#m)'/></svg>",
        "<svg><use href='roofline.svg#mark'/></svg>",
        "<h2 id='t'>x</h2><section aria-labelledby='t'>y</section>",
        "<!-- <a href='nowhere.html'>x</a> -->",
    ],
)
def test_a_link_that_leads_somewhere_passes(content):
    assert wrong(content) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<a href='nowhere.html'>x</a>", "leads to no page"),
        ("<a href='../softmax/'>x</a>", "leads to no page"),
        ("<a href='index.html#resutl'>x</a>", "no place on 'stories/softmax/index.html'"),
        ("<a href='#gone'>x</a>", "no place"),
        ("<a href='../../results/c/artifact.json#/runs'>x</a>", "no place"),
        ("<a href='../../../secret.html'>x</a>", "leaves the site"),
        ("<a href='..&#47;../../secret.html'>x</a>", "leaves the site"),
        ("<a href='%2e%2e/../../secret.html'>x</a>", "leaves the site"),
        ("<a href='..\\index.html'>x</a>", "leaves the site"),
        ("<a href='/index.html'>x</a>", "absolute"),
        ("<a href='//example.org/a'>x</a>", "absolute"),
        ("<a href='javascript:alert(1)'>x</a>", "scheme 'javascript'"),
        ("<a href='file:///etc/passwd'>x</a>", "scheme 'file'"),
        ("<img src='https://example.org/a.png'>", "fetched from another host"),
        ("<link rel='stylesheet' href='https://example.org/a.css'>", "fetched"),
        ("<img src='a.svg' srcset='roofline.svg 1x, gone.svg 2x'>", "'gone.svg'"),
        ("<style>p { background: url(gone.png) }</style>", "'gone.png'"),
        ("<svg><path clip-path='url(#gone)'/></svg>", "'#gone'"),
        ("<section aria-labelledby='gone'>y</section>", "no element here has the id 'gone'"),
        ("<p id='a'>x</p><p id='a'>y</p>", "more than once"),
        ("<a href='http://[bad'>x</a>", "is not an address"),
    ],
)
def test_a_link_that_leads_nowhere_is_told(content, message):
    problems = wrong(content)
    assert message in " ".join(problem.message for problem in problems)
    assert {problem.rule for problem in problems} == {"broken-link"}


def test_the_nearest_page_and_anchor_are_suggested():
    (page,) = wrong("<a href='../softmax/'>x</a>")
    assert page.hint == "did you mean 'index.html'?"
    (anchor,) = wrong("<a href='index.html#resutl'>x</a>")
    assert anchor.hint == "did you mean '#result'?"


def test_a_problem_stands_where_the_link_does():
    (problem,) = wrong("<p>\n<a href='gone.html'>x</a></p>")
    assert problem.place == "stories/softmax/page.html:2:10"


def test_a_problem_stands_in_the_story_where_that_is_known():
    page = "stories/softmax/page.html"
    placed = {(page, "gone.html"): ("kernels/softmax/story.md", 12, 5)}
    (problem,) = wrong("<p><a href='gone.html'>x</a></p>", page, placed)
    assert problem.place == "kernels/softmax/story.md:12:5"


def test_style_sheets_are_followed_from_their_own_folder():
    assert wrong("@import 'b.css'; a { b: url('b.svg') }", "assets/c.css")[0].message.startswith(
        "'b.css'"
    )
