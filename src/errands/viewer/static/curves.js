// Learning curves: median and quartiles, seeds on hover, against steps or seconds, with failures on a line of their own.
import { el, svg, clear, number, toggle } from "./dom.js";

const WIDE = 1100, TALL = 300, LEFT = 56, RIGHT = 14, TOP = 16, BOTTOM = 34;

export function curvesView(curves, initial = "steps") {
  const root = el("div", { class: "curves" });
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${WIDE} ${TALL}`, role: "img", "aria-label": "learning curves" });
  const readout = el("p", { class: "quiet readout", text: "move over the chart to see the seeds" });
  const legend = el("div", { class: "legend" });
  let axis = initial, marked = null;
  const axes = el("div", { class: "chips" });
  root.append(axes, chart, legend, readout);
  chart.addEventListener("pointermove", (event) => hover(event));
  chart.addEventListener("pointerleave", () => { marked = null; drawSeeds(); });

  const all = curves.lines.flatMap((line) => line.seeds.flat()).filter((v) => v !== null);
  const optimum = curves.optimum;
  const low = Math.min(...all, optimum ?? Infinity), high = Math.max(...all, optimum ?? 1, 1);
  const floor = (Number.isFinite(low) ? low : 1) * 0.85, ceiling = high * 1.7;
  const at = (line, seed, step) => {
    const seconds = seed === null ? line.seconds.reduce((a, b) => a + b, 0) / line.seconds.length : line.seconds[seed];
    const end = seed === null ? Math.max(...line.ends) : line.ends[seed];
    return axis === "steps" ? step : (step * seconds) / end;
  };
  let x0 = 1, x1 = 10;
  const px = (v) => LEFT + ((Math.log(v) - Math.log(x0)) / (Math.log(x1) - Math.log(x0) || 1)) * (WIDE - LEFT - RIGHT);
  const py = (v) => {
    const value = v === null ? ceiling : v;
    return TALL - BOTTOM - ((Math.log(value) - Math.log(floor)) / (Math.log(ceiling) - Math.log(floor))) * (TALL - BOTTOM - TOP);
  };
  const seedLayer = svg("g", { class: "seeds" });

  function stairs(line, values, seed) {
    const parts = [];
    line.steps.forEach((step, i) => {
      const x = px(Math.max(at(line, seed, step), x0)).toFixed(1), y = py(values[i]).toFixed(1);
      parts.push(i ? `H${x}V${y}` : `M${x} ${y}`);
    });
    return parts.join("");
  }
  function draw() {
    const xs = curves.lines.flatMap((line) => [null, ...line.seeds.keys()].flatMap((seed) => [at(line, seed, line.steps[0]), at(line, seed, line.steps.at(-1))]));
    x0 = Math.max(Math.min(...xs), 1e-4);
    x1 = Math.max(...xs, x0 * 1.01);
    clear(chart);
    for (const tick of ticks(floor, high * 1.02)) {
      chart.append(svg("path", { class: "gridline", d: `M${LEFT} ${py(tick)}H${WIDE - RIGHT}` }), svg("text", { class: "y", x: LEFT - 6, y: py(tick) + 4, text: number(tick) }));
    }
    chart.append(svg("path", { class: "gridline fails", d: `M${LEFT} ${py(null)}H${WIDE - RIGHT}` }), svg("text", { class: "y", x: LEFT - 6, y: py(null) + 4, text: "fails" }));
    for (const tick of powers(x0, x1)) chart.append(svg("path", { class: "gridline", d: `M${px(tick)} ${TOP}V${TALL - BOTTOM}` }), svg("text", { class: "x", x: px(tick), y: TALL - BOTTOM + 15, text: short(tick) }));
    chart.append(svg("text", { class: "x title", x: (LEFT + WIDE - RIGHT) / 2, y: TALL - 4, text: axis === "steps" ? "training steps" : "seconds of training" }));
    if (optimum !== null) chart.append(svg("path", { class: "optimum", d: `M${LEFT} ${py(optimum)}H${WIDE - RIGHT}` }), svg("text", { class: "x optimum", x: WIDE - RIGHT - 40, y: py(optimum) + 13, text: `optimum ${number(optimum)}` }));
    curves.lines.forEach((line, k) => {
      const forth = stairs(line, line.high, null);
      const back = line.steps.map((step, i) => [step, line.low[i], i]).reverse()
        .map(([step, v, i]) => `L${px(Math.max(at(line, null, line.steps[Math.min(i + 1, line.steps.length - 1)]), x0)).toFixed(1)} ${py(v).toFixed(1)}L${px(Math.max(at(line, null, step), x0)).toFixed(1)} ${py(v).toFixed(1)}`).join("");
      if (line.seeds.length > 1) chart.append(svg("path", { class: `band hue${k % 6}`, d: `${forth}${back}Z` }));
      chart.append(svg("path", { class: `median hue${k % 6}`, d: stairs(line, line.median, null), "data-line": line.name }));
    });
    chart.append(seedLayer);
    clear(axes, ...["steps", "seconds"].map((name) => toggle(name, axis === name, name === "seconds" ? "steps at each run's mean speed" : "training steps", () => { axis = name; draw(); })));
    clear(legend, ...curves.lines.map((line, k) => el("span", { class: `key hue${k % 6}`, text: `${line.name} (${line.seeds.length} seed${line.seeds.length > 1 ? "s" : ""}), ends at ${number(line.median.at(-1))}` })));
    drawSeeds();
  }
  function hover(event) {
    const box = chart.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDE;
    marked = Math.exp(Math.log(x0) + ((x - LEFT) / (WIDE - LEFT - RIGHT)) * (Math.log(x1) - Math.log(x0)));
    drawSeeds();
  }
  function drawSeeds() {
    clear(seedLayer);
    if (marked === null) { readout.textContent = "move over the chart to see the seeds"; return; }
    const told = [];
    curves.lines.forEach((line, k) => {
      if (line.seeds.length <= 12) line.seeds.forEach((row, s) => seedLayer.append(svg("path", { class: `seed hue${k % 6}`, d: stairs(line, row, s) })));
      let i = line.steps.findLastIndex((step) => at(line, null, step) <= marked * 1.0001);
      i = Math.max(i, 0);
      const values = line.seeds.map((row) => (row[i] === null ? "fails" : number(row[i])));
      told.push(`${line.name} at ${number(line.steps[i])} steps: median ${line.median[i] === null ? "fails" : number(line.median[i])}; seeds ${values.slice(0, 12).join(" ")}${values.length > 12 ? " …" : ""}`);
    });
    seedLayer.append(svg("path", { class: "cursor", d: `M${px(Math.min(Math.max(marked, x0), x1))} ${TOP}V${TALL - BOTTOM}` }));
    readout.textContent = told.join("\n");
  }
  draw();
  return { root, data: curves };
}

function ticks(low, high) {
  const found = [];
  for (let e = 0; e < 7; e++) for (const m of [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]) if (m * 10 ** e >= low && m * 10 ** e <= high) found.push(m * 10 ** e);
  const every = Math.ceil(found.length / 6);
  return found.filter((v, i) => Number.isInteger(v) && i % every === 0);
}

function powers(low, high) {
  const found = [];
  for (let e = -4; e < 10; e++) if (10 ** e >= low * 0.999 && 10 ** e <= high * 1.001) found.push(10 ** e);
  return found.length > 1 ? found : [low, ...found.filter((v) => v > 2 * low && v < high / 2), high];
}

function short(v) {
  if (v >= 1e6) return `${number(v / 1e6)} M`;
  if (v >= 1e3) return `${number(v / 1e3)} k`;
  return number(v);
}
