// A machine as laid out by errands: states, wires, rings. `light` shows where it stands and which edge was taken.
import { el, svg, clear, tintOf, toggle } from "./dom.js";

const LINE = 15;

export function machineView(diagram, tints) {
  const root = svg("svg", {
    class: "machine", viewBox: `0 0 ${diagram.width} ${diagram.height}`, width: diagram.width, height: diagram.height,
    role: "img", "aria-label": diagram.title,
  });
  for (const [x, y, rx, ry] of diagram.rings) root.append(svg("ellipse", { class: "ring", cx: x, cy: y, rx, ry }));
  const wires = new Map();
  for (const wire of [...diagram.wires].sort((a, b) => b.fails - a.fails)) {
    const node = drawWire(wire);
    wires.set(`${wire.source}>${wire.target}`, node);
    root.append(node);
  }
  const states = diagram.states.map((state, i) => {
    if (state.initial) root.append(arrowInto(state));
    if (state.loop.length) {
      const loop = drawLoop(state);
      wires.set(`${i}>${i}`, loop);
      root.append(loop);
    }
    const node = drawState(state, diagram.round, tintOf(state.objective, tints));
    root.append(node);
    return node;
  });
  return { root, diagram, light: (lit, edges) => light(states, wires, lit, edges), follow: (lit, fit) => follow(root, diagram, lit, fit) };
}

// A machine a little too wide is made to fit; one that is much wider keeps its size and is moved to what is lit.
function follow(root, diagram, lit, fit) {
  const stage = root.parentNode;
  if (!stage || !stage.clientWidth) return;
  const most = 0.48 * window.innerHeight;
  const scale = Math.min(1.25, Math.max(fit ? 0.05 : 0.72, Math.min((stage.clientWidth - 4) / diagram.width, most / diagram.height)));
  stage.style.height = `${Math.max(180, Math.min(most, diagram.height * scale + 16))}px`;
  root.setAttribute("width", diagram.width * scale);
  root.setAttribute("height", diagram.height * scale);
  const places = lit.map((i) => diagram.states[i]);
  if (!places.length) return;
  const x = places.reduce((sum, s) => sum + s.x, 0) / places.length, y = places.reduce((sum, s) => sum + s.y, 0) / places.length;
  stage.scrollTo({ left: x * scale - stage.clientWidth / 2, top: y * scale - stage.clientHeight / 2, behavior: "instant" });
}

function light(states, wires, lit, edges) {
  const on = new Set(lit);
  states.forEach((node, i) => node.classList.toggle("lit", on.has(i)));
  for (const node of wires.values()) node.classList.remove("taken", "moved");
  for (const [source, target] of edges) {
    const node = wires.get(`${source}>${target}`);
    if (!node) continue;
    node.classList.add("taken");
    if (source !== target) node.classList.add("moved");
    node.parentNode.insertBefore(node, states[0]);
  }
}

function drawState(state, round, tint) {
  const group = svg("g", { class: `state ${["running", "success", "failure"][state.status]} ${tint}` });
  group.append(svg("title", { text: state.text }));
  const outline = (inset) => round
    ? svg("circle", { cx: state.x, cy: state.y, r: state.w - inset })
    : svg("rect", {
      x: state.x - state.w + inset, y: state.y - state.h + inset, width: 2 * (state.w - inset),
      height: 2 * (state.h - inset), rx: 9 - inset,
    });
  group.append(outline(0));
  if (state.status) group.append(outline(3));
  const first = state.y - ((state.lines.length - 1) * LINE) / 2 + 4.3;
  state.lines.forEach((line, i) => group.append(words(line, state.x, first + i * LINE)));
  return group;
}

function drawWire(wire) {
  const group = svg("g", { class: wire.fails ? "wire fails" : "wire" });
  const last = wire.spans.length - 1;
  const tip = wire.spans[last][1];
  const step = tip > wire.spans[last][0] ? 1 : -1;
  const path = [`M${wire.spans[0][0]} ${wire.spans[0][2]}H${wire.spans[0][1]}`];
  for (let i = 1; i <= last; i++) {
    const [, x0, y0] = wire.spans[i - 1];
    const [x1, x2, y1] = wire.spans[i];
    const middle = (x0 + x1) / 2;
    if (y0 !== y1) path.push(`C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`);
    path.push(`H${i === last ? x2 - 6 * step : x2}`);
  }
  group.append(svg("path", { class: "line", d: path.join("") }), head(tip, wire.spans[last][2], step, 0));
  wire.lines.forEach((line, i) =>
    group.append(words(line, wire.label[0], wire.label[1] - 5 - (wire.lines.length - 1 - i) * LINE)));
  return group;
}

function drawLoop(state) {
  const side = state.above ? -1 : 1;
  const border = state.y + side * Math.sqrt(Math.max(state.h ** 2 - (state.w === state.h ? 36 : 0), 1));
  const far = state.y + side * (state.h + state.reach * 1.2);
  const group = svg("g", { class: "wire loop" });
  const bend = `C${state.x - 15} ${far} ${state.x + 15} ${far} ${state.x + 7} ${border + side * 5}`;
  group.append(svg("path", { class: "line", d: `M${state.x - 6} ${border}${bend}` }), head(state.x + 6, border, -0.16, -side));
  const edge = state.y + side * (state.h + state.reach);
  const lowest = state.above ? edge - 3 : edge + state.loop.length * LINE - 3;
  state.loop.forEach((line, i) => group.append(words(line, state.x, lowest - (state.loop.length - 1 - i) * LINE)));
  return group;
}

function arrowInto(state) {
  const tip = state.x - state.w;
  return svg("g", { class: "wire" }, svg("path", { class: "line", d: `M${tip - 22} ${state.y}H${tip - 6}` }), head(tip, state.y, 1, 0));
}

function head(x, y, dx, dy) {
  const size = Math.hypot(dx, dy);
  const points = [[0, 0], [-9, -3.8], [-6.3, 0], [-9, 3.8]]
    .map(([a, b]) => `${x + (a * dx - b * dy) / size},${y + (a * dy + b * dx) / size}`);
  return svg("polygon", { class: "head", points: points.join(" ") });
}

function words(text, x, y) {
  return svg("text", { x, y, "text-anchor": "middle", text });
}

const UNDRAWN = "This machine has too many states to be drawn, and the episode passes too many to draw a part.";

// The four machines behind tabs; `show` picks one, `light` lights the shown one.
export function machinesView(diagrams, sizes, tints, chosen, pick) {
  const tabs = el("div", { class: "tabs", role: "tablist" });
  const stage = el("div", { class: "stage" });
  const views = {};
  let current = null, fit = false, last = [{}, {}];
  const kinds = ["numeric", "boolean", "agenda", "coupled"];
  for (const kind of kinds) {
    const known = kind in diagrams;
    const count = sizes && sizes[kind] !== undefined ? ` ${sizes[kind].toLocaleString("en-US")}` : "";
    tabs.append(el("button", {
      type: "button", role: "tab", "data-kind": kind, text: `${kind[0].toUpperCase()}${kind.slice(1)}${count}`,
      class: known ? "" : "undrawn", title: known ? `the ${diagrams[kind].title}` : UNDRAWN, onclick: () => pick(kind),
    }));
  }
  const fitting = toggle("fit", fit, "the whole machine at once", () => { fit = !fit; fitting.setAttribute("aria-pressed", String(fit)); light(...last); });
  fitting.classList.add("fit");
  function light(lit, edges) {
    last = [lit, edges];
    if (!(current in diagrams)) return;
    views[current].light(lit[current] ?? [], edges[current] ?? []);
    views[current].follow(lit[current] ?? [], fit);
  }
  function show(kind) {
    current = kinds.includes(kind) ? kind : "numeric";
    if (current in diagrams) views[current] ??= machineView(diagrams[current], tints);
    clear(stage, views[current]?.root ?? el("p", { class: "quiet", text: UNDRAWN }));
    stage.style.height = "";
    for (const tab of tabs.querySelectorAll("[role=tab]")) tab.setAttribute("aria-selected", String(tab.dataset.kind === current));
  }
  show(chosen);
  return {
    root: el("div", { class: "machines" }, el("div", { class: "row machine-bar" }, tabs, fitting), stage,
      el("p", { class: "quiet touch", text: "The machine can be moved with a finger." })), show, light,
    get current() { return current; },
  };
}
