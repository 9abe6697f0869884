// The editor: a task file with its errors under their lines, its machines, a trace to try, a grid to draw, and Train.
import { el, clear, number, toggle } from "./dom.js";
import { machinesView } from "./machine.js";
import { gridEditor, withRows } from "./grid.js";
import { ask, tell, watch } from "./live.js";
import { replayView } from "./replay.js";

const DRAFT = "errands draft";

export async function editorView(options, changed) {
  const tasks = await ask("tasks");
  const { learners, preferred } = await ask("runs");
  const area = el("textarea", { class: "source", spellcheck: "false", "aria-label": "task file", autocapitalize: "off", oninput: () => later() });
  const notes = el("ul", { class: "notes", "aria-live": "polite", "aria-label": "problems" });
  const gutter = el("div", { class: "gutter", "aria-hidden": "true" });
  const stripes = el("div", { class: "stripes", "aria-hidden": "true" });
  const pad = el("div", { class: "pad" }, gutter, el("div", { class: "paper" }, stripes, area));
  const summary = el("p", { class: "quiet", role: "status" });
  const reading = el("ul", { class: "reading" });
  const begin = el("select", { "aria-label": "begin with", onchange: () => { area.value = tasks[begin.value]; check(); } },
    el("option", { value: "", text: "begin with …", disabled: true, selected: true }), ...Object.keys(tasks).map((name) => el("option", { value: name, text: name })));
  const machineBox = el("div"), traceBox = el("div", { class: "trace" });
  const grid = gridEditor((rows) => { area.value = withRows(area.value, rows); check(); });
  const gridCard = el("section", { class: "card", hidden: true }, el("h2", { text: "Draw the grid" }), grid.root);
  const learner = el("select", { "aria-label": "learner" }, ...Object.entries(learners).map(([name, about]) => el("option", { value: name, text: name, title: about })));
  learner.value = preferred;
  const steps = el("input", { class: "field", type: "number", min: 1, max: 2000000, value: 100000, "aria-label": "training steps" });
  const train = el("button", { type: "button", class: "button", text: "Train", onclick: () => start() });
  const cancel = el("button", { type: "button", class: "button plain", text: "Cancel", hidden: true, onclick: () => stop() });
  const told = el("p", { class: "quiet", role: "status" }), barred = el("p", { class: "quiet" });
  const bar = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "training so far" });
  const watched = el("div", { class: "watched" });
  const root = el("div", { class: "editor" },
    el("section", { class: "card" }, el("h2", { text: "Task file" }), el("div", { class: "row" }, begin, summary), pad, notes, reading),
    el("div", { class: "column" },
      el("section", { class: "card" }, el("h2", { text: "Machines" }), machineBox, traceBox), gridCard),
    el("section", { class: "card wide" }, el("h2", { text: "Train" }), el("div", { class: "row" }, learner, steps, train, cancel, bar), barred, told, watched));

  let timer = null, asked = 0, shown = null, machines = null, kind = "coupled", trace = [], tried = null, running = null, close = null, live = null;
  area.addEventListener("scroll", place);
  area.value = options.text ?? sessionStorage.getItem(DRAFT) ?? Object.values(tasks)[0];

  function later() {
    clearTimeout(timer);
    timer = setTimeout(check, 250);
  }
  async function check() {
    clearTimeout(timer);
    const mine = ++asked;
    sessionStorage.setItem(DRAFT, area.value);
    let found;
    try { found = await tell("check", { text: area.value }); } catch (fault) { found = { problems: [{ line: 1, message: fault.message }] }; }
    if (mine !== asked) return;
    drawProblems(found);
    train.disabled = found.problems.length > 0 || Boolean(found.untrainable);
    barred.textContent = found.untrainable ?? "";
    if (found.problems.length) return;
    shown = found;
    trace = [];
    tried = null;
    machines = machinesView(found.machines, found.sizes, found.scene.tints ?? {}, kind, (next) => { kind = next; machines.show(next); light(); });
    clear(machineBox, machines.root);
    gridCard.hidden = !found.rows;
    if (found.rows) grid.show(found.rows, found.legend, found.scene.tints ?? {});
    light();
    drawTrace();
  }
  function drawProblems(found) {
    const rows = area.value.split("\n");
    clear(gutter, ...rows.map((_, i) => el("span", { text: i + 1, class: found.problems.some((p) => p.line === i + 1) ? "wrong" : null })));
    clear(notes, ...found.problems.map((p) => el("li", { class: "note", "data-line": p.line },
      el("button", { type: "button", class: "chip", text: `line ${p.line}`, title: "go to the line", onclick: () => goTo(p.line) }), p.message)));
    clear(stripes, ...found.problems.map((p) => el("div", { class: "stripe", "data-line": p.line })));
    const count = found.problems.length;
    summary.textContent = count ? `${count} problem${count > 1 ? "s" : ""}` : `${found.task}: ${found.features.length} features, ${number(found.sizes.coupled ?? null)} coupled states`;
    summary.classList.toggle("wrong", count > 0);
    clear(reading, ...(count ? [] : [...found.warnings.map((text) => el("li", { class: "warning", text })), ...found.reading.map((text) => el("li", { text }))]));
    place();
  }
  // The wrong lines are marked behind the text; what is wrong with them stands below, so that no line is hidden.
  function place() {
    const height = parseFloat(getComputedStyle(area).lineHeight);
    gutter.style.transform = `translateY(${-area.scrollTop}px)`;
    for (const stripe of stripes.children) stripe.style.top = `${8 + (Number(stripe.dataset.line) - 1) * height - area.scrollTop}px`;
  }
  function goTo(line) {
    const before = area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.focus();
    area.setSelectionRange(before, before + (area.value.split("\n")[line - 1] ?? "").length);
    area.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(area).lineHeight));
  }
  function light() {
    const frame = tried?.frames.at(-1);
    const stand = frame ? tried.stands[frame.stand] : shown.stands[0];
    machines.light(stand.lit, frame ? tried.moves[frame.move].edges : {});
    requestAnimationFrame(() => machines.light(stand.lit, frame ? tried.moves[frame.move].edges : {}));
  }
  function drawTrace() {
    const chosen = new Set();
    const chips = shown.features.map((name) => {
      const chip = toggle(name, false, `the step makes ${name} true`, () => {
        if (!chosen.delete(name)) chosen.add(name);
        chip.setAttribute("aria-pressed", String(chosen.has(name)));
      });
      return chip;
    });
    const rows = (tried?.frames ?? []).slice(1).map((frame, i) => {
      const stand = tried.stands[frame.stand], move = tried.moves[frame.move];
      return el("li", { text: `${i + 1}. {${frame.features.join(", ")}} ⟨${move.guard ?? "no transition"} ; ${number(frame.reward)}⟩ → ${stand.label}${frame.status === 1 ? " success" : frame.status === 2 ? " failure" : ""}` });
    });
    const over = tried?.frames.at(-1).status;
    const step = async (names) => {
      trace.push(names);
      try { tried = await tell("trace", { text: area.value, trace }); } catch (fault) { trace.pop(); summary.textContent = fault.message; return; }
      light();
      drawTrace();
    };
    clear(traceBox, el("h2", { text: "Try a trace" }), el("div", { class: "row" }, el("div", { class: "chips" }, ...chips),
      el("button", { type: "button", class: "button", text: "Step", disabled: Boolean(over), onclick: () => step([...chosen]) }),
      el("button", { type: "button", class: "button plain", text: "Again", onclick: () => { trace = []; tried = null; light(); drawTrace(); } })),
    el("ol", { class: "steps" }, ...rows));
  }
  async function start() {
    try {
      running = (await tell("train", { text: area.value, learner: learner.value, steps: Number(steps.value), seed: 0 })).run;
    } catch (fault) { told.textContent = fault.message; return; }
    root.dataset.run = running;
    train.disabled = true;
    cancel.hidden = bar.hidden = false;
    bar.value = 0;
    told.textContent = `training ${running}`;
    let seen = null;
    close?.();
    close = watch(running, (now) => {
      const seed = now.seeds[0];
      bar.value = seed.step / now.steps;
      const length = seed.length === null ? "" : `, ${seed.success ? `done in ${seed.length} steps` : "not done yet"}`;
      told.textContent = seed.error ?? `${now.state ?? "training"}: ${number(seed.step)} of ${number(now.steps)} steps${length}`;
      root.dataset.state = now.state ?? "";
      const mark = `${seed.checkpoint} ${seed.ended}`;
      if (seed.checkpoint !== null && mark !== seen && now.state !== "cancelled") { seen = mark; show(running); }
    }, () => { train.disabled = false; cancel.hidden = bar.hidden = true; });
  }
  async function stop() {
    const { state } = await tell("cancel", { run: running });
    told.textContent = `${running} was ${state}; what it had learnt is kept`;
    root.dataset.state = state;
    train.disabled = false;
    cancel.hidden = bar.hidden = true;
    close?.();
  }
  async function show(run) {
    let replay;
    try { replay = await ask("replay", { run }); } catch (fault) { told.textContent = fault.message; return; }
    live?.pause();
    live = replayView(replay, live ? { machine: live.view.machine, show: [...live.view.show].join(",") } : {}, () => {});
    clear(watched, live.root);
    live.play();
  }
  changed({});
  setTimeout(check, 0);
  return { root, key: (event) => { if (!event.target.closest("textarea, input, select, button")) live?.key(event); }, leave: () => { close?.(); live?.pause(); } };
}
