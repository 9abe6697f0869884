// The replay of a run: world and machine side by side, moved by one clock; the exported file and the page share it.
import { el, clear, number, picture, tintOf, toggle } from "./dom.js";
import { machinesView } from "./machine.js";
import { worldView } from "./world.js";
import { curvesView } from "./curves.js";

const SPEEDS = [0.5, 1, 2, 5, 10, 30];
const MOMENT_SECONDS = 2.5;
const MOST_BOXES = 20; // a machine with more is opened only where it is asked for

export function replayView(replay, initial, changed) {
  const last = replay.episodes.length - 1;
  const first = replay.facts.begin === "first" ? 0 : last;
  const within = (text, most, fallback) => (/^\d+$/.test(text ?? "") ? Math.min(Number(text), most) : fallback);
  const view = {
    episode: initial.episode === "optimal" && replay.optimal ? "optimal" : within(initial.episode, last, first),
    frame: 0,
    machine: initial.machine ?? (replay.machines.coupled?.states.length <= MOST_BOXES ? "coupled" : "numeric"),
    map: within(initial.map, 1000, 0),
    show: new Set((initial.show ?? "learnt,optimal").split(",")),
    speed: within(initial.speed, SPEEDS.length - 1, replay.scene.kind === "grid" ? 2 : 5),
  };
  let playing = false, training = false, due = 0;
  const current = () => (view.episode === "optimal" ? replay.optimal : replay.episodes[view.episode]);
  view.frame = within(initial.frame, current().frames.length - 1, 0);

  const world = worldView(replay.scene, replay.pictures);
  const machines = machinesView(replay.machines, replay.sizes, replay.scene.tints ?? {}, view.machine, (kind) => { view.machine = kind; machines.show(kind); draw(); });
  const play = el("button", { type: "button", class: "play", "aria-label": "play", title: "space", onclick: () => setPlaying(!playing) });
  const scrubber = el("input", { type: "range", min: 0, step: 1, class: "scrubber", "aria-label": "step of the episode", oninput: () => go(Number(scrubber.value)) });
  const counter = el("output", { class: "counter" });
  const speed = el("select", { "aria-label": "speed", title: "steps per second", onchange: () => { view.speed = Number(speed.value); keep(); } },
    ...SPEEDS.map((v, i) => el("option", { value: i, text: `${v} steps/s` })));
  const moments = el("input", { type: "range", min: 0, max: last, step: 1, class: "moments", "aria-label": "moment of training", oninput: () => pickEpisode(Number(moments.value)) });
  const momentText = el("output", { class: "counter" });
  const rehearse = el("button", { type: "button", class: "button plain", text: "play the training", title: "every moment from the first to the last", onclick: () => playTraining() });
  const chart = replay.curves ? curvesView(replay.curves) : null;
  const episodes = el("div", { class: "chips" });
  const overlays = el("div", { class: "chips overlays" });
  const maps = el("select", { "aria-label": "policy shown", onchange: () => { view.map = Number(maps.value); drawEpisode(); } });
  const step = el("dl", { class: "facts" }), agenda = el("dl", { class: "facts" });
  const ticks = el("ul", { class: "ticks", "aria-label": "subtasks" });
  const bars = el("div", { class: "bars" });
  const flash = el("p", { class: "flash", role: "status" });

  const root = el("div", { class: "replay" },
    el("section", { class: "card" }, el("h2", { text: "World" }), overlays, el("div", { class: "frame" }, world.root), legendOf(replay.scene)),
    el("section", { class: "card" }, el("h2", { text: "Reward machine" }), machines.root, flash),
    el("section", { class: "card transport" },
      el("div", { class: "row" }, play, scrubber, counter, speed),
      el("div", { class: "row" }, episodes, ...(last > 0 ? [el("label", { class: "row labelled" }, el("span", { class: "quiet", text: "moment of training" }), moments), rehearse] : []), momentText)),
    el("section", { class: told(replay) ? "card" : "card wide" }, el("h2", { text: "This step" }), ticks, agenda,
      el("details", { class: "more" }, el("summary", { text: "In the machine's words" }), step)),
    told(replay) ? el("section", { class: "card" }, el("h2", { text: "Steps to go" }), bars) : null,
    chart ? el("section", { class: "card wide" }, el("h2", { text: "Learning curve" }), chart.root) : null,
    ...(replay.figures ?? []).map((figure) => el("section", { class: "card wide" }, el("h2", { text: figure.name }), picture(figure))));

  // From the first moment of training to the last, each quick enough to be over in a few seconds.
  function playTraining() {
    pickEpisode(0);
    go(0);
    training = true;
    setPlaying(true);
  }
  const rate = () => (training ? Math.max(SPEEDS[view.speed], current().frames.length / MOMENT_SECONDS) : SPEEDS[view.speed]);
  function setPlaying(on) {
    if (!on) training = false;
    if (on && view.frame >= current().frames.length - 1) go(0);
    playing = on;
    play.classList.toggle("on", on);
    play.setAttribute("aria-label", on ? "pause" : "play");
    due = 0;
    if (on) requestAnimationFrame(tick);
    else keep();
  }
  function tick(now) {
    if (!playing || !root.isConnected) return;
    if (!due) due = now + 1000 / rate();
    if (now >= due) {
      if (view.frame >= current().frames.length - 1) {
        if (!training || view.episode === last) return setPlaying(false);
        view.frame = 0;
        pickEpisode(view.episode + 1);
      } else {
        const ahead = Math.max(1, Math.floor(((now - due) * rate()) / 1000));
        view.frame = Math.min(view.frame + ahead, current().frames.length - 1);
        draw();
      }
      due = Math.max(due + 1000 / rate(), now);
    }
    requestAnimationFrame(tick);
  }
  function go(frame) {
    view.frame = Math.max(0, Math.min(frame, current().frames.length - 1));
    draw();
    if (!playing) keep();
  }
  function pickEpisode(which) {
    view.episode = which;
    view.frame = Math.min(view.frame, current().frames.length - 1);
    drawEpisode();
    keep();
  }
  function keep() {
    changed({ episode: view.episode === last ? null : view.episode, frame: view.frame || null, machine: view.machine,
      map: view.map || null, show: [...view.show].join(","), speed: view.speed });
  }
  function overlay(name, text, title) {
    return toggle(text, view.show.has(name), title, () => {
      if (!view.show.delete(name)) view.show.add(name);
      drawEpisode();
      keep();
    });
  }
  function drawEpisode() {
    const episode = current();
    scrubber.max = episode.frames.length - 1;
    speed.value = view.speed;
    const learnt = view.episode === "optimal" ? replay.episodes[last] : episode;
    const path = (e) => (e ? e.frames.map((f) => f.at) : null);
    world.routes?.(view.show.has("learnt") ? path(learnt) : null, view.show.has("optimal") ? path(replay.optimal) : null);
    const known = learnt.maps ?? [];
    view.map = Math.min(view.map, Math.max(known.length - 1, 0));
    clear(maps, ...known.map((m, i) => el("option", { value: i, text: m.name })));
    maps.value = view.map;
    const wanted = view.show.has("arrows") || view.show.has("heat");
    world.policy?.(wanted ? known[view.map] : null, view.show.has("arrows"), view.show.has("heat"));
    clear(overlays, ...(replay.scene.kind === "grid" ? [
      overlay("learnt", "learnt route", "the way the learnt policy goes"),
      replay.optimal ? overlay("optimal", "optimal route", "a shortest way, by the oracle") : null,
      known.length ? overlay("arrows", "arrows", "what the policy does in each cell") : null,
      known.some((m) => m.values) ? overlay("heat", "heat map", "the learnt value of each cell") : null,
      known.length && wanted ? maps : null].filter(Boolean) : []));
    if (last > 0 && view.episode !== "optimal") moments.value = view.episode;
    moments.setAttribute("aria-valuetext", episode.title);
    chart?.mark(episode.step);
    const ending = episode.success ? `done in ${number(episode.length)} steps` : `not done in ${number(episode.length)} steps`;
    momentText.textContent = `${episode.step === 0 && last === 0 ? "" : `${episode.title}: `}${ending}${episode.cut ? ` (first ${episode.frames.length - 1} shown)` : ""}`;
    clear(episodes, toggle("learnt", view.episode !== "optimal", "the learnt policy", () => pickEpisode(last)),
      ...(replay.optimal ? [toggle("optimum", view.episode === "optimal", "a shortest episode", () => pickEpisode("optimal"))] : []));
    draw();
  }
  function draw() {
    const episode = current(), frame = episode.frames[view.frame];
    const stand = replay.stands[frame.stand], move = replay.moves[frame.move];
    scrubber.value = view.frame;
    scrubber.setAttribute("aria-valuetext", `step ${view.frame} of ${episode.frames.length - 1}`);
    counter.textContent = `${view.frame} / ${episode.frames.length - 1}`;
    world.show(frame, stand, replay.subtasks, view.frame);
    machines.light(stand.lit, move.edges);
    root.dataset.frame = view.frame;
    root.dataset.label = stand.label;
    drawFlash(flash, frame, move, stand);
    drawTicks(ticks, replay.subtasks, stand, frame, replay.scene.tints ?? {});
    drawFacts(step, frame, move, stand);
    drawAgenda(agenda, replay.subtasks, stand, frame);
    drawBars(bars, episode, frame, stand);
  }
  function key(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("textarea, select, input:not(.scrubber)")) return;
    const acts = {
      " ": () => setPlaying(!playing), ArrowRight: () => go(view.frame + 1), ArrowLeft: () => go(view.frame - 1),
      Home: () => go(0), End: () => go(Infinity),
      "]": () => pickEpisode(Math.min(last, view.episode === "optimal" ? last : view.episode + 1)),
      "[": () => pickEpisode(Math.max(0, view.episode === "optimal" ? last : view.episode - 1)),
      "+": () => { view.speed = Math.min(SPEEDS.length - 1, view.speed + 1); speed.value = view.speed; keep(); },
      "-": () => { view.speed = Math.max(0, view.speed - 1); speed.value = view.speed; keep(); },
      m: () => { const kinds = Object.keys(replay.machines); view.machine = kinds[(kinds.indexOf(machines.current) + 1) % kinds.length]; machines.show(view.machine); draw(); keep(); },
    };
    if (event.target.matches("button") && event.key === " ") return;
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }
  drawEpisode();
  requestAnimationFrame(draw);
  return { root, key, step: () => replay.episodes[last].step, pause: () => setPlaying(false), play: () => setPlaying(true), view };
}

function drawFlash(flash, frame, move, stand) {
  flash.classList.toggle("paid", frame.reward > 0);
  flash.classList.toggle("done", frame.done.length > 0);
  const text = frame.action === null ? `start in ${stand.label}`
    : move.guard === null ? `no transition fires: stay in ${stand.label}` : `⟨${move.guard} ; ${number(frame.reward)}⟩ → ${stand.label}`;
  flash.textContent = text;
}

function drawTicks(ticks, subtasks, stand, frame, tints) {
  const done = new Set(frame.done);
  clear(ticks, ...subtasks.map((name, i) => el("li", {
    class: `${stand.remaining[i] ? `open ${tintOf(name, tints)}` : "finished"}${done.has(name) ? " now" : ""}`, text: name,
  })));
}

// Whether anything is known of steps to go; networks learn values, and say nothing of steps.
function told(replay) {
  const groups = [...replay.episodes, ...(replay.optimal ? [replay.optimal] : [])].flatMap((episode) => Object.values(episode.groups).flat());
  return groups.some((bar) => bar.learnt !== null || bar.exact !== null);
}

function drawAgenda(list, subtasks, stand, frame) {
  const by = (open) => subtasks.filter((_, i) => Boolean(stand.remaining[i]) === open && (!open || subtasks[i] !== frame.next));
  const rows = [["done", by(false)], ["next", frame.next ? [frame.next] : []], ["still open", by(true)]].filter(([, names]) => names.length);
  const ending = [null, "the task is done", "the task has failed"][frame.status];
  clear(list, ...rows.flatMap(([name, names]) => [el("dt", { text: name }), el("dd", { text: names.join(", ") })]),
    ...(ending ? [el("dt", { text: "now" }), el("dd", { text: ending })] : []));
}

// What the signs on the map mean, in the colours of the map; nothing where every sign is its own name.
function legendOf(scene) {
  const rows = scene.legend ?? [];
  if (!rows.length) return null;
  return el("ul", { class: "signs", "aria-label": "legend of the map" }, ...rows.map(([name, sign]) =>
    el("li", {}, el("span", { class: `sample ${tintOf(name, scene.tints)}`, text: sign }), name)));
}

function drawFacts(list, frame, move, stand) {
  const rows = [
    ["action", frame.action ?? "start"], ["features", frame.features.join(", ") || "none"], ["numeric state", stand.state],
    ["label", stand.label], ["guard", move.guard ?? "none"], ["reward", `${number(frame.reward)} (total ${number(frame.total)})`],
    ["episode", ["goes on", "success", "failure"][frame.status]],
  ];
  clear(list, ...rows.flatMap(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })]));
}

function drawBars(box, episode, frame, stand) {
  const group = episode.groups[stand.label] ?? [];
  const values = group.flatMap((bar) => [bar.learnt, bar.exact]).filter((v) => v !== null);
  if (!group.length) return void clear(box, el("p", { class: "quiet", text: "the task has ended" }));
  const most = Math.max(...values, 1);
  const rows = group.map((bar) => {
    const row = el("div", { class: bar.objective === frame.next ? "bar chosen" : "bar", title: bar.label },
      el("span", { class: "name", text: bar.objective }));
    const track = el("span", { class: "track" });
    for (const kind of ["learnt", "exact"]) {
      if (bar[kind] === null) continue;
      const fillBar = el("span", { class: `fill ${kind}` });
      fillBar.style.width = `${(100 * bar[kind]) / most}%`;
      track.append(fillBar);
    }
    const told = [bar.learnt === null ? null : number(bar.learnt), bar.exact === null ? null : `exact ${number(bar.exact)}`];
    row.append(track, el("span", { class: "value", text: told.filter(Boolean).join(", ") || "not known" }));
    return row;
  });
  const caption = frame.next ? `${stand.label}: next is ${frame.next}` : stand.label;
  clear(box, el("p", { class: "quiet", text: caption }), ...rows);
}
