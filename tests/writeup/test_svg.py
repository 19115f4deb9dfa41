import pytest

from writeup.svg import INKS, Anchor, Dress, dress

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def dressed(body, put=None):
    drawing = f'{HEAD} viewBox="0 0 9 9"><style>* {{}}</style>{body}</svg>'
    return dress(drawing.encode(), put or Dress(), prefix="p", title="T", summary="S")


def test_a_style_becomes_attributes_and_its_ink_a_class():
    found = dressed(
        f'<path d="M 0 0" style="fill: none; stroke: {INKS["step"]}; stroke-width: 2"/>'
    )
    assert '<path d="M 0 0" fill="none" stroke-width="2" class="s-step" />' in found
    assert "style" not in found


def test_a_colour_that_is_no_ink_is_refused():
    with pytest.raises(ValueError, match="not an ink"):
        dressed('<path style="fill: #ffffff"/>')


def test_a_property_without_an_attribute_is_refused():
    with pytest.raises(ValueError, match="no presentation attribute"):
        dressed('<path style="filter: blur(1px)"/>')


def test_the_font_shorthand_of_older_releases_keeps_its_size_alone():
    assert '<text font-size="8.6">x</text>' in dressed(
        "<text style=\"font: 8.6px 'DejaVu Sans'\">x</text>"
    )


def test_a_text_is_replaced_by_the_id_of_its_artist_alone():
    body = '<g id="a"><text>one</text></g><g id="b"><text>one</text></g>'
    assert "<text>one</text><" not in dressed(body, Dress(words={"a": "x", "b": "y"}))
    assert "<text>one</text>" in dressed(body, Dress(words={"a": "x"}))


def test_an_artist_that_was_not_drawn_is_an_error():
    with pytest.raises(KeyError):
        dressed("<g/>", Dress(words={"a": "x"}))


def test_a_linked_artist_stands_where_it_stood():
    body = '<g id="a"/><path id="z"/>'
    found = dressed(body, Dress(anchors={"a": Anchor("#x", "the mark")}))
    assert (
        '<a href="#x" class="mark" aria-label="the mark"><title>the mark</title><g /></a><path />'
        in found
    )


def test_only_ids_that_something_refers_to_are_kept_and_they_get_the_prefix():
    found = dressed(
        '<g id="a"/><path id="m"/><use xlink:href="#m" clip-path="url(#c)"/><g id="c"/>'
    )
    assert 'id="a"' not in found
    assert 'id="p-m"' in found
    assert 'href="#p-m"' in found
    assert 'clip-path="url(#p-c)"' in found
