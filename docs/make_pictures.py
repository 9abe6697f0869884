"""Pictures of the real page, for README and the documentation: python docs/make_pictures.py (needs chromium).

`learning.gif` is the replay of one seed of QCoRM on office-3, from before training to its end, as the page shows it;
`page-*.png` are its tabs. Nothing is drawn by hand, so they stay true as long as this is run.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from errands.runs.folder import RunFolder, create
from errands.runs.request import Request
from errands.runs.sweep import train_run
from errands.tasks import load
from errands.viewer.api import Api
from errands.viewer.export import export_html
from errands.viewer.server import application, listen, names_of, runner
from errands.viewer.sources import replay_stored

HERE = Path(__file__).parent / "pictures"
MOST_BYTES = 1_000_000
SEED = 1
WIDTHS = (760, 680, 600, 520)
"""Tried from the widest; the first whose animation is small enough is taken."""


def trained(runs: Path, learner: str, steps: int, every: int) -> RunFolder:
    """A run on office-3, stored as `errands train` stores it."""
    task = load("office-3")
    request = Request.of(task, learner, settings=[f"eval_every={every}"], steps=steps, seeds=range(2))
    run = create(runs / f"office-3-{learner}", request, checkpoint_seconds=60.0, git={})
    train_run(run, 1, quiet=True)
    return run


@contextmanager
def served(runs: Path) -> Iterator[str]:
    """The viewer on a free port; its link."""
    sock = listen("127.0.0.1", 0)
    port = sock.getsockname()[1]
    server = runner(application(Api(runs), "pictures", *names_of("127.0.0.1", port)))
    thread = threading.Thread(target=lambda: server.run(sockets=[sock]), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{port}/pictures/"
    server.should_exit = True
    thread.join(10)


def frames(page: Any, count: int) -> Iterator[Image.Image]:
    """The shown episode in at most so many pictures: world and machine, and the learning curve below them."""
    last = int(page.locator(".scrubber").get_attribute("max"))
    page.keyboard.press("Home")
    shown = sorted({round(i * last / max(count - 1, 1)) for i in range(count)})
    for place, after in zip(shown, [*shown[1:], None], strict=True):
        yield together(page)
        for _ in range(0 if after is None else after - place):
            page.keyboard.press("ArrowRight")


def together(page: Any) -> Image.Image:
    """The upper cards and the card of the curve as one picture."""
    parts = [page.locator(".card").nth(0), page.locator(".card").nth(1), page.locator(".card.wide")]
    world, machine, curve = (Image.open(io.BytesIO(part.screenshot())).convert("RGB") for part in parts)
    wide = world.width + machine.width + 14
    curve = curve.crop((0, 0, curve.width, curve.height - 60))
    picture = Image.new("RGB", (wide, max(world.height, machine.height) + curve.height + 10), "#f5f6f4")
    picture.paste(world, (0, 0))
    picture.paste(machine, (world.width + 14, 0))
    picture.paste(curve.resize((wide, round(curve.height * wide / curve.width))), (0, max(world.height, machine.height) + 10))
    return picture


def animation(pictures: list[Image.Image], times: list[int]) -> bytes:
    """The pictures as a GIF of less than MOST_BYTES."""
    for wide in WIDTHS:
        small = [p.resize((wide, round(p.height * wide / p.width)), Image.Resampling.LANCZOS) for p in pictures]
        palette = small[-1].quantize(128, dither=Image.Dither.NONE)
        few = [p.quantize(128, palette=palette, dither=Image.Dither.NONE) for p in small]
        out = io.BytesIO()
        few[0].save(out, "GIF", save_all=True, append_images=few[1:], duration=times, loop=0, optimize=True)
        if out.tell() < MOST_BYTES:
            return out.getvalue()
    raise SystemExit(f"the animation has {out.tell():,} bytes even at {WIDTHS[-1]} pixels; show fewer frames")


def main() -> None:
    """Train, open the page, take pictures."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not installed; run: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        runs = Path(folder) / "runs"
        run = trained(runs, "qcorm", 200_000, 500)
        trained(runs, "qcorm-plus", 20_000, 500)
        file = export_html(replay_stored(run, SEED), Path(folder) / "run.html", begin="first")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1180, "height": 900})
        page.goto(f"{file.as_uri()}#machine=numeric&show=learnt")
        page.wait_for_selector(".replay")
        page.locator("button:text-is('fit')").click()
        pictures, times = [], []
        moments = int(page.locator(".moments").get_attribute("max")) + 1
        for moment in range(moments):
            last = moment == moments - 1
            found = list(frames(page, 27 if last else 7))
            pictures += found
            times += [160] * (len(found) - 1) + [2_500 if last else 350]
            page.keyboard.press("]")
        (HERE / "learning.gif").write_bytes(animation(pictures, times))
        with served(runs) as link:
            for tab in ("replay", "compare", "sizes", "editor"):
                view = "&with=office-3-qcorm,office-3-qcorm-plus" if tab == "compare" else ""
                page.goto(f"{link}#tab={tab}&run=office-3-qcorm&seed={SEED}{view}")
                page.reload()
                page.wait_for_selector(".replay, .median, .sizes .bar, .machine", state="attached")
                page.wait_for_timeout(1_000)
                page.screenshot(path=str(HERE / f"page-{tab}.png"))
        browser.close()


if __name__ == "__main__":
    main()
