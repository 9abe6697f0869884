"""Shapes become pixels of the right colour in the right place."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from errands.worlds import Delivery, GridWorld, Office
from errands.worlds.picture import (
    Disc,
    Drawing,
    Rectangle,
    Stroke,
    Word,
    grid_drawing,
    grid_svg,
    grid_text,
    pixels,
    svg,
)

PICTURE = Drawing(
    40,
    20,
    (
        Rectangle(0, 0, 10, 20, "#ff0000"),
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


SVG = "{http://www.w3.org/2000/svg}"


def read(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 (our own text)


def texts(svg: str) -> list[str]:
    return [str(element.text) for element in read(svg).iter(SVG + "text")]


def test_the_office_shows_every_sign_and_its_start() -> None:
    assert sorted(texts(grid_svg(Office().layout))) == sorted(
        ["*"] * 6 + ["f"] * 2 + [f"o{i}" for i in range(1, 7)] + ["A"]
    )


def test_every_wall_is_a_thick_line_and_the_border_too() -> None:
    layout = Office().layout
    lines = read(grid_svg(layout)).iter(SVG + "polyline")
    assert sum(line.get("stroke-width") == "3.5" for line in lines) == len(layout.walls) + 1


def test_the_agent_is_drawn_where_it_is() -> None:
    root = read(grid_svg(GridWorld(["A..", "..."], {}).layout, agent=4))
    (agent,) = root.iter(SVG + "circle")
    assert (agent.get("cx"), agent.get("cy")) == ("70", "70")


def test_names_are_escaped() -> None:
    assert "<&>" in texts(grid_svg(GridWorld(["Ax"], {"x": "<&>"}).layout))


def test_hidden_boxes_are_left_out() -> None:
    layout = Delivery(3).layout
    shown = grid_drawing(layout, hidden={"b2"}).shapes
    assert {shape.text for shape in shown if hasattr(shape, "text")} == {"A", "b1", "b3", "s"}
    assert "b2" not in grid_text(layout, hidden={"b2"})


def test_text_of_a_walled_grid_shows_walls_and_doors() -> None:
    lines = grid_text(Office().layout).splitlines()
    assert lines[1] == "|.  .  . |.  .  . |.  .  . |.  .  . |"
    assert lines[2] == "|.  o3 .  .  *  .  .  *  .  .  o4 . |"
    assert lines[4] == "|--    -- --    -- --    -- --    --|"
    assert lines[10] == "|.  o6 A  .  *  .  .  *  .  .  o5 . |"
    assert "#" in grid_text(GridWorld(["A#"], {}).layout)
