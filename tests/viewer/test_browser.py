"""The page in a real browser: what is lit, moved, typed, trained and refused; screenshots go to artefacts/viewer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import errands
from errands.machines import couple, unfold_agenda
from errands.runs.folder import open_run
from errands.viewer.api import Api
from errands.viewer.export import export_html
from errands.viewer.sources import replay_stored
from errands.viewer.training import PageTrainer

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no /usr/bin/chromium to show the page in")
SHOTS = Path(__file__).parents[2] / "artefacts" / "viewer"
HANGS = 120_000
"""Milliseconds after which what is waited for is taken never to come."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=HANGS)
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu"]
        made = playwright.chromium.launch(executable_path=str(CHROMIUM), args=options, timeout=HANGS)
        yield made
        made.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A fresh page; anything that it complains about fails the test."""
    # Without motion a colour is what it is from the first moment on, and not on its way there.
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, reduced_motion="reduce")
    shown = context.new_page()
    faults: list[str] = []
    shown.on("pageerror", lambda fault: faults.append(str(fault)))
    shown.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    shown.on("dialog", lambda box: (faults.append(f"a dialog opened: {box.message}"), box.dismiss()))
    shown.set_default_timeout(HANGS)
    yield shown
    context.close()
    assert faults == []


def shot(page: Any, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(SHOTS / f"{name}.png"), full_page=True)


def opened(page: Any, link: str, view: str = "") -> None:
    page.goto(f"{link}#{view}")
    page.wait_for_selector(".replay")


def awaited(page: Any, selector: str) -> Any:
    """What becomes true of an element (asked without eval, which the page forbids)."""
    from playwright.sync_api import expect

    return expect(page.locator(selector))


def lit(page: Any) -> list[str]:
    return sorted(page.locator(".stage .state.lit title").all_text_contents())


def at(page: Any, step: int) -> None:
    """The page shows a step of the episode, or comes to it."""
    awaited(page, ".replay").to_have_attribute("data-frame", str(step))


def addressed(page: Any, part: str) -> str:
    """The address of the page once it has some part."""
    from playwright.sync_api import expect

    expect(page).to_have_url(re.compile(re.escape(part)))
    return str(page.url)


def test_the_lit_states_are_those_of_the_recorded_trace_for_ten_steps(page: Any, served: Any, runs: Path) -> None:
    opened(page, served.link, "run=fig&machine=coupled")
    run = open_run(runs / "fig")
    replay = replay_stored(run, 0)
    trace = [frame["features"] for frame in replay.episodes[-1].frames]
    agenda = unfold_agenda(run.task.machine)
    coupled = couple(agenda)
    state = agenda.states[0]
    for step in range(11):
        if step:
            page.keyboard.press("ArrowRight")
            state = agenda.stepper.step(state, set(trace[step])).state
        at(page, step)
        wanted = [str(coupled.labels[j]) for j in coupled.groups[agenda.index[state]]]
        assert lit(page) == sorted(wanted)
    assert page.locator(".flash").text_content() == "⟨s & b⤓ ; 1⟩ → 4{}"
    assert page.locator(".ticks .finished").all_text_contents() == ["b1", "b2"]
    shot(page, "replay-end")


def test_the_taken_edge_flashes_with_its_guard_and_reward(page: Any, served: Any) -> None:
    opened(page, served.link, "run=fig&machine=numeric")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    moved = page.locator(".stage .wire.moved text").all_text_contents()
    assert moved == ["⟨b↓ | b⤓; 0⟩"]
    assert lit(page) == ["u1"]
    assert page.locator(".bar.chosen .name").text_content() == "s"


def test_the_scrubber_moves_by_mouse_and_by_keyboard(page: Any, served: Any) -> None:
    page.clock.install()
    opened(page, served.link, "run=fig")
    box = page.locator(".scrubber").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    at(page, 5)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    at(page, 10)
    page.locator(".scrubber").focus()
    for key, place in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 10)):
        page.keyboard.press(key)
        at(page, place)
    page.keyboard.press("Home")
    page.keyboard.press("+")
    # From here on the page's clock is turned by hand: five steps a second, the first after 200 milliseconds.
    page.clock.pause_at(datetime.now() + timedelta(hours=1))
    page.keyboard.press(" ")
    awaited(page, ".play").to_have_attribute("aria-label", "pause")
    page.clock.run_for(700)
    at(page, 3)
    page.keyboard.press(" ")
    awaited(page, ".play").to_have_attribute("aria-label", "play")
    page.clock.run_for(700)
    at(page, 3)
    page.keyboard.press(" ")
    page.clock.run_for(2_000)
    at(page, 10)
    awaited(page, ".play").to_have_attribute("aria-label", "play")


def test_moments_of_training_and_maps_are_shown(page: Any, served: Any) -> None:
    opened(page, served.link, "run=fig&show=learnt,optimal,arrows,heat")
    assert "after 20,000 steps" in page.locator(".transport").text_content()
    assert page.locator(".arrows path").count() == 12
    assert page.locator(".heat rect").count() > 0
    assert page.locator(".route").count() == 2
    page.keyboard.press("[")
    assert "after 20,000 steps" not in page.locator(".transport").text_content()
    page.locator("button:text-is('optimum')").click()
    assert "done in 10 steps" in page.locator(".transport").text_content()
    shot(page, "replay-maps")


def test_a_link_restores_the_view(page: Any, served: Any, browser: Any) -> None:
    opened(page, served.link, "run=fig&machine=agenda")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("m")
    at(page, 6)
    link, label = addressed(page, "frame=6"), page.locator(".replay").get_attribute("data-label")
    other = browser.new_page()
    other.set_default_timeout(HANGS)
    other.goto(link)
    other.wait_for_selector(".replay")
    at(other, 6)
    assert other.locator(".replay").get_attribute("data-label") == label
    assert other.locator(".machines [aria-selected=true]").text_content().startswith("Coupled")
    other.close()


def test_the_numbers_of_the_curves_are_those_of_the_store(page: Any, served: Any, runs: Path) -> None:
    opened(page, served.link, "tab=replay&run=fig")
    rows = [place.evaluations() for place in open_run(runs / "fig").seeds()]
    chart = page.locator(".chart")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.995, box["y"] + box["height"] / 2)
    awaited(page, ".readout").to_contain_text("at 20,000 steps")
    told = page.locator(".readout").text_content()
    ends = [str(row[-1].episode_length) if row[-1].success else "fails" for row in rows]
    assert told.endswith(f"seeds {' '.join(ends)}")
    for share in (0.2, 0.5, 0.8):
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)
        told = page.locator(".readout").text_content()
        step = int(re.search(r"at ([\d,]+) steps", told)[1].replace(",", ""))
        known = [next(e for e in reversed(row) if e.step <= step) for row in rows]
        wanted = " ".join(str(e.episode_length) if e.success else "fails" for e in known)
        assert told.endswith(f"seeds {wanted}")
    assert "training steps" in chart.text_content()


def test_runs_are_compared(page: Any, served: Any) -> None:
    page.goto(f"{served.link}#tab=compare&with=fig")
    page.wait_for_selector(".median", state="attached")
    page.locator(".runs button:text-is('fig-crm')").click()
    awaited(page, ".median").to_have_count(2)
    addressed(page, "fig-crm")
    shot(page, "compare")


def test_a_figure_that_no_module_draws_is_shown_as_an_image(page: Any, served: Any) -> None:
    page.goto(f"{served.link}#tab=compare&with=fig")
    page.get_by_role("button", name="runtimes").click()
    page.get_by_role("img", name="seconds per million steps against the number of subtasks").wait_for()
    page.wait_for_function("document.querySelector('img.figure').naturalWidth > 100")
    assert "figure=runtimes" in page.url


def test_the_slider_shows_exact_sizes(page: Any, served: Any) -> None:
    page.goto(f"{served.link}#tab=sizes&family=delivery&n=2")
    shown = awaited(page, ".sizes .value")
    shown.to_have_text(["3", "9", "7", "8", "3"])
    page.locator("input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    sizes = errands.size(errands.load("delivery-3").machine)
    shown.to_have_text(["3", *(f"{n:,}" for n in (sizes.boolean, sizes.agenda, sizes.coupled, sizes.policies))])
    page.keyboard.press("End")
    awaited(page, ".sizes .value >> nth=1").to_contain_text("× 10^")
    shot(page, "sizes")


def begun_with(page: Any, link: str, name: str) -> None:
    page.goto(f"{link}#tab=editor")
    page.wait_for_selector(".machine")
    page.locator("select[aria-label='begin with']").select_option(name)
    awaited(page, ".editor p[role=status] >> nth=0").to_contain_text(f"{name}:")


def test_the_editor_marks_wrong_lines_and_hides_none(page: Any, served: Any) -> None:
    begun_with(page, served.link, "figure-1")
    good = page.locator("textarea").input_value()
    lines = good.split("\n")
    wrong = next(i for i, line in enumerate(lines) if "u1 -> u1" in line)
    page.locator("textarea").fill(good.replace("u1 -> u1 : ~s", "u1 -> u1 : ~(s"))
    note = page.locator(".note")
    note.wait_for()
    assert note.get_attribute("data-line") == str(wrong + 1)
    line, stripe = page.locator(".gutter span").nth(wrong).bounding_box(), page.locator(".stripe").bounding_box()
    assert abs(stripe["y"] - line["y"]) < 3
    pad, below = page.locator(".pad").bounding_box(), note.bounding_box()
    assert below["y"] >= pad["y"] + pad["height"]
    assert page.locator("button:text-is('Train')").is_disabled()
    shot(page, "editor-error")
    page.locator("textarea").fill(good.replace("~s ;", "~t ;"))
    awaited(page, ".note >> nth=0").to_contain_text("~t")
    page.locator("textarea").fill(good)
    awaited(page, ".note").to_have_count(0)


def test_a_trace_is_tried_step_by_step(page: Any, served: Any) -> None:
    begun_with(page, served.link, "figure-1")
    page.wait_for_selector(".trace .chip")
    assert lit(page) == ["0{b1,b2}b1", "0{b1,b2}b2"]
    for names, label in ((["b2"], "1{b1}s"), (["s"], "2{b1}b1"), (["b1"], "3{}s"), (["s"], "4{}")):
        for name in names:
            page.locator(f".trace .chip:text-is('{name}')").click()
        before = page.locator(".steps li").count()
        page.locator("button:text-is('Step')").click()
        awaited(page, ".steps li").to_have_count(before + 1)
        assert lit(page) == [label]
    assert page.locator(".steps li").last.text_content() == "4. {s} ⟨s & b⤓ ; 1⟩ → 4{} success"
    assert page.locator("button:text-is('Step')").is_disabled()
    shot(page, "editor-trace")


def test_a_grid_is_drawn_with_the_mouse_and_trained(page: Any, served: Any) -> None:
    page.goto(f"{served.link}#tab=editor")
    page.wait_for_selector(".board .cell")
    box = page.locator(".board").bounding_box()
    wide, tall = box["width"] / 3, box["height"] / 4
    page.mouse.move(box["x"] + wide * 1.5, box["y"] + tall * 1.5)
    page.mouse.down()
    page.mouse.move(box["x"] + wide * 1.5, box["y"] + tall * 2.5, steps=4)
    page.mouse.up()
    awaited(page, ".board .wall").to_have_count(2)
    assert '".#A"' in page.locator("textarea").input_value()
    page.locator("select[aria-label=learner]").select_option("qcorm")
    page.locator("input[type=number]").fill("20000")
    page.wait_for_selector("button:text-is('Train'):enabled")
    page.locator("button:text-is('Train')").click()
    page.wait_for_selector("[data-state=done] .watched .replay")
    page.wait_for_selector(".watched .median", state="attached")
    name = page.locator(".editor").get_attribute("data-run")
    run = open_run(served.api.root / name)
    assert run.finished
    assert run.task.layout.blocked == {4, 7}
    assert run.results()[0].steps == 20_000
    shot(page, "editor-trained")


def test_training_from_the_page_is_cancelled(page: Any, another_server: Any, tmp_path: Path) -> None:
    # More steps than would end by themselves, however late the button is pressed.
    with another_server(Api(tmp_path, trainer=PageTrainer(tmp_path, max_steps=10**12))) as served:
        _cancel(page, served)


def _cancel(page: Any, served: Any) -> None:
    page.goto(f"{served.link}#tab=editor")
    page.wait_for_selector(".board .cell")
    page.locator("select[aria-label='begin with']").select_option("delivery-4")
    awaited(page, ".editor p[role=status] >> nth=0").to_contain_text("delivery-4:")
    page.locator("select[aria-label=learner]").select_option("crm")
    page.locator("input[type=number]").fill(str(10**12))
    page.locator("button:text-is('Train')").click()
    page.wait_for_selector("button:text-is('Cancel'):visible")
    page.wait_for_selector("[data-run]")
    page.locator("button:text-is('Cancel')").click()
    page.wait_for_selector("[data-state=cancelled]")
    name = page.locator(".editor").get_attribute("data-run")
    assert served.api.trainer.known[name].process.poll() is not None
    assert not open_run(served.api.root / name).finished


def test_the_editor_begins_with_a_phrase_and_the_default_learner(page: Any, served: Any) -> None:
    page.goto(f"{served.link}#tab=editor")
    page.wait_for_selector(".machine")
    assert 'phrase = "any_order(b1, b2, after=s)"' in page.locator("textarea").input_value()
    assert page.locator("select[aria-label=learner]").input_value() == "scout"


def test_the_legend_explains_the_signs_in_the_colours_of_the_map(replay_policy: Any, page: Any, tmp_path: Path) -> None:
    task = errands.load("office-2")
    opened(page, export_html(replay_policy(task, Swing(0)), tmp_path / "office.html").as_uri())
    assert page.locator(".signs li").all_text_contents() == ["fcoffee", "*decoration"]
    colour = "node => getComputedStyle(node).fill"
    tile = page.locator(".place", has_text="coffee").first.locator("rect").evaluate(colour)
    assert page.locator(".state:not(.lit)", has_text="coffee").first.locator("rect").evaluate(colour) == tile
    sample = page.locator(".signs .sample").first.evaluate("node => getComputedStyle(node).backgroundColor")
    assert sample == tile


def test_the_training_plays_from_the_first_moment_to_the_last(page: Any, runs: Path, tmp_path: Path) -> None:
    replay = replay_stored(open_run(runs / "fig"))
    opened(page, export_html(replay, tmp_path / "first.html", begin="first").as_uri())
    assert "before training" in page.locator(".transport").text_content()
    page.locator("select[aria-label=speed]").select_option("5")
    page.locator("button:text-is('play the training')").click()
    awaited(page, ".transport").to_contain_text(f"after {replay.episodes[-1].step:,} steps")
    assert page.locator(".chart .moment").count() == 1


def test_the_chart_fits_a_phone(browser: Any, served: Any) -> None:
    phone = browser.new_page(viewport={"width": 390, "height": 844})
    phone.set_default_timeout(HANGS)
    phone.goto(f"{served.link}#tab=replay&run=fig")
    phone.wait_for_selector(".chart .median", state="attached")
    chart, box = phone.locator(".chart").bounding_box(), phone.locator(".curves").bounding_box()
    assert chart["width"] <= box["width"] + 1
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    assert phone.locator(".chart text").first.evaluate("node => node.getBoundingClientRect().height") > 9
    phone.close()


@pytest.mark.parametrize(
    ("tab", "last"),
    [("replay", ".replay .median"), ("compare", ".median"), ("sizes", ".growth .chart"), ("editor", ".trace .chip")],
)
def test_axe_finds_no_fault_with_the_page(browser: Any, served: Any, tab: str, last: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, reduced_motion="reduce", bypass_csp=True)
    shown = context.new_page()
    shown.set_default_timeout(HANGS)
    shown.goto(f"{served.link}#tab={tab}&run=fig")
    shown.wait_for_selector(last, state="attached")
    shown.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    found = axe.Axe().run(shown).response["violations"]
    context.close()
    assert [(v["id"], [n["target"] for n in v["nodes"]][:3]) for v in found] == []


def test_names_with_markup_do_not_execute(page: Any, served: Any, tmp_path: Path, runs: Path) -> None:
    opened(page, served.link, "run=hostile")
    awaited(page, "p.quiet[role=status]").to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("img").count() == 0
    file = export_html(replay_stored(open_run(runs / "hostile")), tmp_path / "hostile.html")
    opened(page, file.as_uri())
    assert page.locator("h1").text_content() == "<img src=x onerror=alert(1)>, crm (agenda)"
    assert page.title() == "<img src=x onerror=alert(1)>, crm (agenda)"
    assert page.locator("img").count() == 0


def test_an_exported_file_plays_from_disk_without_a_network(browser: Any, runs: Path, tmp_path: Path) -> None:
    file = export_html(replay_stored(open_run(runs / "fig")), tmp_path / "run.html")
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme="dark")
    page = context.new_page()
    page.set_default_timeout(HANGS)
    context.set_offline(True)
    asked: list[str] = []
    faults: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda said: faults.append(said.text))
    opened(page, file.as_uri())
    for step in range(1, 11):
        page.keyboard.press("ArrowRight")
        at(page, step)
    assert page.locator(".state.success.lit").count() == 1
    page.keyboard.press("Home")
    page.locator(".play").click()
    awaited(page, ".replay").not_to_have_attribute("data-frame", "0")
    assert asked == [file.as_uri()]
    assert faults == []
    shot(page, "exported-dark")
    context.close()


class Swing:
    """A policy written by hand, for worlds that are shown without having learnt anything."""

    def __init__(self, *actions: Any) -> None:
        self.actions = actions

    def act(self, world_state: Any, machine_state: tuple[int, int], memory: Any) -> tuple[Any, Any]:
        step = memory or 0
        return self.actions[step % len(self.actions)], step + 1


def test_water_plays_in_the_page(replay_policy: Any, page: Any, tmp_path: Path) -> None:
    task = errands.load("water-3")
    replay = replay_policy(task, Swing(1, 1, 2, 2, 3, 4))
    opened(page, export_html(replay, tmp_path / "water.html").as_uri(), "frame=3")
    frame = replay.episodes[-1].frames[3]
    assert page.locator(".ball").count() == 12
    places = page.locator(".ball").evaluate_all("balls => balls.map(b => [b.cx.baseVal.value, 400 - b.cy.baseVal.value])")
    assert places == [pytest.approx(at, abs=0.01) for at in frame["at"][1:]]
    shot(page, "water")


def test_half_cheetah_plays_as_a_stick_figure(
    replay_policy: Any, page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log where it is loaded
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    task = errands.load("cheetah-bcd")
    moves = [np.array([1, -1, 0.5, -1, 1, -0.5]) * sign for sign in (1, 1, 1, -1, -1, -1)]
    replay = replay_policy(task, Swing(*moves))
    opened(page, export_html(replay, tmp_path / "cheetah.html").as_uri(), "frame=20")
    assert page.locator(".limbs path").count() == 8
    drawn = page.locator(".limbs path").first.get_attribute("d")
    x1, z1, x2, z2, _ = replay.episodes[-1].frames[20]["at"][0]
    assert drawn == f"M{_js(x1)} {_js(-z1)}L{_js(x2)} {_js(-z2)}"
    shot(page, "cheetah")


def _js(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".")
