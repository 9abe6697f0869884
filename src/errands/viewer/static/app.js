// The page: tabs, the run that is shown, and an address that restores the view.
import { el, clear, number, picture, toggle } from "./dom.js";
import { ask, tell, watch } from "./live.js";
import { replayView } from "./replay.js";
import { curvesView } from "./curves.js";
import { sizesView } from "./sizes.js";
import { editorView } from "./editor.js";

const main = document.getElementById("main"), tabs = document.getElementById("tabs");
const PAGES = { replay: ["Replay", replayPage], compare: ["Compare", comparePage], sizes: ["Sizes", sizesView], editor: ["Editor", editorView] };
let options = read(), page = null, entered = 0;

function read() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

function keep(changes) {
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") delete options[name];
    else options[name] = String(value);
  }
  history.replaceState(null, "", `#${new URLSearchParams(options)}`);
}

async function enter(tab) {
  const mine = ++entered;
  page?.leave?.();
  page = null;
  const name = tab in PAGES ? tab : "replay";
  clear(tabs, ...Object.entries(PAGES).map(([key, [text]]) => el("button", {
    type: "button", role: "tab", text, "aria-selected": String(key === name), "aria-controls": "main", onclick: () => { options = { tab: key, ...(options.run ? { run: options.run } : {}) }; keep({}); enter(key); },
  })));
  document.body.dataset.tab = name;
  document.getElementById("foot").hidden = name !== "replay";
  try {
    const made = await PAGES[name][1](options, (changes) => mine === entered && keep({ tab: name, ...changes }));
    if (mine !== entered) return made.leave?.();
    page = made;
    clear(main, page.root);
  } catch (fault) {
    if (mine === entered) clear(main, el("p", { class: "card", text: fault.message }));
  }
  document.documentElement.dataset.ready = name;
}

async function replayPage(given, changed) {
  const { runs, chosen } = await ask("runs");
  if (!runs.length) return { root: el("section", { class: "card" }, el("p", { text: "There are no runs here yet. Train one with: errands train office-3 qcorm, or write a task in the editor." })) };
  const wanted = given.run ?? chosen ?? runs[0].name;
  const run = runs.find((row) => row.name === wanted && !row.error) ?? runs.find((row) => !row.error);
  if (!run) throw new Error(runs[0].error);
  let view = null, close = null, seen = null;
  const pick = el("select", { "aria-label": "run", onchange: () => { for (const key of ["seed", "frame", "episode", "map"]) delete options[key]; keep({ run: pick.value }); enter("replay"); } },
    ...runs.map((row) => el("option", { value: row.name, text: row.error ? `${row.name} (damaged)` : row.name, disabled: Boolean(row.error), selected: row.name === run.name })));
  const seeds = el("select", { "aria-label": "seed", onchange: () => { for (const key of ["frame", "episode", "map"]) delete options[key]; keep({ seed: seeds.value }); enter("replay"); } },
    ...run.seeds.slice(0, 200).map((seed) => el("option", { value: seed, text: `seed ${seed}`, selected: String(seed) === given.seed })));
  const about = el("p", { class: "quiet", role: "status" });
  const bar = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "training so far" });
  const live = el("p", { class: "live", role: "status" });
  const why = el("details", { class: "more", hidden: true }, el("summary", { text: "Why it seldom succeeds, and what to try" }), el("ul"));
  const stage = el("div", {}, el("p", { class: "quiet", text: "recording the episode" }));
  const total = el("input", { class: "field", type: "number", min: 1, value: 2 * (run.steps ?? 1), "aria-label": "steps in all" });
  const more = el("details", { class: "more", hidden: !run.finished }, el("summary", { text: "Train further" }), el("div", { class: "row" }, "to", total, "steps in all",
    el("button", { type: "button", class: "button plain", text: "Train", onclick: () => tell("further", { run: run.name, steps: Number(total.value) }).then(() => enter("replay"), (fault) => { live.textContent = fault.message; }) })));
  const root = el("div", {}, el("div", { class: "row choose" }, pick, seeds, bar, live, about, why, more), stage);

  async function awaitFirst(step, steps) {
    const words = el("p", { class: "quiet", text: `training: ${number(step)} of ${number(steps)} steps; the first checkpoint is awaited` });
    const curves = step ? await ask("curves", { run: run.name }).catch(() => null) : null;
    if (!view) clear(stage, words, ...(curves ? [el("section", { class: "card" }, curvesView(curves).root)] : []));
  }
  async function load(first) {
    let replay;
    try { replay = await ask("replay", { run: run.name, seed: given.seed ?? null }); } catch (fault) { clear(stage, el("p", { class: "card", text: fault.message })); return; }
    const kept = view ? { machine: view.view.machine, show: [...view.view.show].join(","), speed: String(view.view.speed) } : given;
    view?.pause();
    view = replayView(replay, kept, (changes) => changed({ run: run.name, ...changes }));
    clear(stage, view.root);
    seeds.value = replay.facts.seed;
    about.textContent = `${replay.task}, ${replay.learner}: ${replay.facts.headline}`;
    why.hidden = !replay.facts.diagnosis;
    if (replay.facts.diagnosis) clear(why.lastChild, ...[...replay.facts.diagnosis.says, ...replay.facts.diagnosis.advice.map((words) => `try: ${words}`)].map((text) => el("li", { text })));
    if (!first) view.play();
  }
  if (run.finished) load(true);
  else {
    close = watch(run.name, (now) => {
      const step = Math.max(...now.seeds.map((s) => s.step));
      if (!now.finished) live.textContent = now.state === null || now.state === "training" ? `still training: ${number(step)} of ${number(now.steps)} steps; the page follows` : now.state;
      bar.hidden = now.finished;
      bar.value = step / now.steps;
      const mark = now.seeds.map((s) => `${s.checkpoint}${s.ended}`).join();
      if (mark !== seen && now.seeds.some((s) => s.checkpoint !== null)) { load(seen === null); seen = mark; }
      else if (!view) awaitFirst(step, now.steps);
    }, () => { bar.hidden = true; live.textContent = ""; });
  }
  return { root, key: (event) => view?.key(event), leave: () => { close?.(); view?.pause(); } };
}

async function comparePage(given, changed) {
  const { runs, chosen, figures } = await ask("runs");
  const good = runs.filter((row) => !row.error);
  if (!good.length) return { root: el("p", { class: "card", text: "There are no runs to compare yet." }) };
  const wanted = (given.with ?? given.run ?? chosen ?? good[0].name).split(",");
  const picked = new Set(wanted.filter((name) => good.some((row) => row.name === name)));
  if (!picked.size) picked.add(good[0].name);
  const tasks = [...new Set(good.map((row) => row.task))];
  const menu = el("select", { "aria-label": "task", onchange: () => { picked.clear(); picked.add(good.find((row) => row.task === menu.value).name); drawList(); load(); } },
    ...tasks.map((name) => el("option", { value: name, text: `${name} (${good.filter((row) => row.task === name).length})` })));
  const list = el("div", { class: "chips runs" }), kinds = el("div", { class: "chips" }), chart = el("div"), offer = el("p", { class: "quiet" });
  let kind = figures.find((figure) => figure.name === given.figure) ?? figures.find((figure) => figure.script);
  let closes = [];
  const task = () => good.find((row) => picked.has(row.name))?.task;
  function drawList() {
    if (picked.size) menu.value = task();
    offer.textContent = picked.size ? "" : "All runs; after the first is chosen, those on the same task.";
    clear(list, ...good.filter((row) => !picked.size || row.task === task() || picked.has(row.name)).map((row) => toggle(`${row.name}`, picked.has(row.name), `${row.task}, ${row.learner}`, () => {
      if (!picked.delete(row.name)) picked.add(row.name);
      drawList();
      load();
    })));
  }
  async function load() {
    closes.forEach((close) => close());
    closes = [];
    changed({ with: [...picked].join(","), figure: kind.script ? null : kind.name });
    clear(kinds, ...figures.map((figure) => toggle(figure.name, figure === kind, figure.about, () => { kind = figure; load(); })));
    if (!picked.size) return void clear(chart, el("p", { class: "quiet", text: "choose a run" }));
    await refresh();
    for (const row of good) if (picked.has(row.name) && !row.finished) closes.push(watch(row.name, () => refresh(), () => refresh()));
  }
  async function refresh() {
    const drawn = kind;
    try {
      const shown = drawn.script ? curvesView(await ask("curves", { run: [...picked] })).root : picture({ ...drawn, ...await ask("figure", { name: drawn.name, run: [...picked] }) });
      if (drawn === kind) clear(chart, shown);
    } catch (fault) { clear(chart, el("p", { class: "quiet", text: fault.message })); }
  }
  drawList();
  load();
  return { root: el("section", { class: "card" }, el("h2", { text: "Learning curves" }), el("label", { class: "row labelled" }, el("span", { class: "quiet", text: "task" }), menu), offer, list, kinds, chart), leave: () => closes.forEach((close) => close()) };
}

document.addEventListener("keydown", (event) => page?.key?.(event));
addEventListener("hashchange", () => { options = read(); enter(options.tab); });
enter(options.tab);
