"""Shapes become pixels of the right colour in the right place."""

from __future__ import annotations

from errands.worlds.drawing import Box, Disc, Drawing, Stroke, Word, pixels, svg

PICTURE = Drawing(
    40,
    20,
    (
        Box(0, 0, 10, 20, "#ff0000"),
        Disc(20, 10, 5, "#00ff00"),
        Stroke(((30, 0), (30, 20)), "#0000ff", 4),
        Word(35, 10, "i", 8, "#000000"),
    ),
)


def test_pixels_have_the_colours_of_the_shapes() -> None:
    image = pixels(PICTURE)
    assert image.shape == (20, 40, 3)
    assert [tuple(image[10, x].tolist()) for x in (5, 20, 30)] == [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
    assert tuple(image[1, 20].tolist()) == (255, 255, 255)
    assert image[5:15, 33:38].min() < 200


def test_svg_writes_short_numbers_and_one_element_to_a_shape() -> None:
    text = svg(PICTURE)
    assert '<circle cx="20" cy="10" r="5" fill="#00ff00"/>' in text
    assert text.count("<rect") == 2
    assert text.endswith("</svg>\n")
