// Learning curves: median, quartiles and seeds of each line; under them the share of episodes that fail.
import { el, svg, clear, number } from "./dom.js";

const ABOUT = "Length of the greedy episode: median and quartiles of the seeds (of one seed the interval of its episodes), and below success, or the seeds that fail. Move over the chart to see the seeds.";
const LEFT = 56, RIGHT = 14, TOP = 12, BOTTOM = 34, GAP = 12;

export function curvesView(curves) {
  const root = el("div", { class: "curves" });
  const chart = svg("svg", { class: "chart", role: "img", "aria-label": describe(curves) });
  const readout = el("p", { class: "quiet readout", text: ABOUT });
  const legend = el("div", { class: "legend" });
  const all = curves.lines.flatMap((line) => line.seeds.flat()).filter((v) => v !== null);
  // Where success is a matter of chance it is a figure of its own, with the interval or the quartiles around it; the greater one
  // where no length is known.
  const chance = curves.lines.some((line) => line.chance), STRIP = chance ? (all.length ? 84 : 200) : 26;
  let pointed = null, moment = null, wide = 0, tall = 0;
  root.append(chart, legend, readout);
  chart.addEventListener("pointermove", (event) => point(event));
  chart.addEventListener("pointerleave", () => { pointed = null; drawSeeds(); });
  // The drawing has the width of its box, so letters keep their size on a phone.
  new ResizeObserver(() => { if (root.clientWidth && root.clientWidth !== wide) draw(); }).observe(root);

  const optimum = curves.optimum;
  const low = Math.min(...all, optimum ?? (curves.bounds?.lower || Infinity)), high = Math.max(...all, optimum ?? curves.bounds?.upper ?? 1, 1);
  const floor = (Number.isFinite(low) ? low : 1) * 0.85, ceiling = Math.max(high * 1.1, floor * 1.5);
  let x0 = 1, x1 = 10;
  const bottom = () => tall - BOTTOM - STRIP - GAP;
  const px = (v) => LEFT + ((Math.log(v) - Math.log(x0)) / (Math.log(x1) - Math.log(x0) || 1)) * (wide - LEFT - RIGHT);
  const py = (v) => bottom() - ((Math.log(v) - Math.log(floor)) / (Math.log(ceiling) - Math.log(floor))) * (bottom() - TOP);
  const share = (v) => tall - BOTTOM - v * STRIP;
  const seedLayer = svg("g", { class: "seeds" });

  // A staircase through the known values; a failure leaves a gap.
  function stairs(line, values, height = py) {
    const parts = [];
    let before = null;
    line.steps.forEach((step, i) => {
      const x = px(Math.max(step, x0)).toFixed(1);
      if (values[i] === null) { if (before !== null) parts.push(`H${x}`); }
      else parts.push(before === null ? `M${x} ${height(values[i]).toFixed(1)}` : `H${x}V${height(values[i]).toFixed(1)}`);
      before = values[i];
    });
    return parts.join("");
  }
  function band(line) {
    const known = line.steps.map((_, i) => i).filter((i) => line.low[i] !== null);
    const x = (i) => px(Math.max(line.steps[Math.min(i, line.steps.length - 1)], x0)).toFixed(1);
    const top = (i) => py(line.high[i] ?? ceiling).toFixed(1);
    return known.map((i) => `M${x(i)} ${top(i)}H${x(i + 1)}V${py(line.low[i]).toFixed(1)}H${x(i)}Z`).join("");
  }
  const length = (line, value) => (value !== null ? number(value) : line.chance ? "may fail" : "fails");

  function draw() {
    wide = Math.max(260, root.clientWidth || 1100);
    tall = (wide < 560 ? 260 : 320) + (chance ? 60 : 0);
    chart.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
    const xs = curves.lines.flatMap((line) => [line.steps[0], line.steps.at(-1)]);
    x0 = Math.max(Math.min(...xs), 1e-4);
    x1 = Math.max(...xs, x0 * 1.01);
    clear(chart);
    const write = (name, x, y, text) => chart.append(svg("text", { class: name, x, y, text }));
    const rule = (name, d) => chart.append(svg("path", { class: name, d }));
    if (!all.length) write("x", (LEFT + wide - RIGHT) / 2, (TOP + bottom()) / 2, "no length: success was never sure");
    else for (const tick of ticks(floor, ceiling)) { rule("gridline", `M${LEFT} ${py(tick)}H${wide - RIGHT}`); write("y", LEFT - 6, py(tick) + 4, number(tick)); }
    for (const tick of powers(x0, x1)) { rule("gridline", `M${px(tick)} ${TOP}V${tall - BOTTOM}`); write(px(tick) > wide - RIGHT - 20 ? "end" : "x", px(tick) > wide - RIGHT - 20 ? wide - 2 : px(tick), tall - BOTTOM + 15, short(tick)); }
    write("x title", (LEFT + wide - RIGHT) / 2, tall - 4, "training steps");
    chart.append(svg("rect", { class: "strip", x: LEFT, y: share(1), width: wide - LEFT - RIGHT, height: STRIP }));
    if (chance) for (const v of [0, 0.5, 1]) { rule("gridline", `M${LEFT} ${share(v)}H${wide - RIGHT}`); write("y", LEFT - 6, share(v) + 4, `${100 * v} %`); }
    else write("y", LEFT - 6, share(0.5) + 4, "fail");
    write("x title side", 0, 0, chance ? "success" : "");
    chart.lastChild.setAttribute("transform", `translate(11 ${share(0.5)}) rotate(-90)`);
    write("x title side", 0, 0, "steps of the episode");
    chart.lastChild.setAttribute("transform", `translate(11 ${(TOP + bottom()) / 2}) rotate(-90)`);
    if (optimum !== null) { rule("optimum", `M${LEFT} ${py(optimum)}H${wide - RIGHT}`); write("end optimum", wide - RIGHT, py(optimum) + 13, `optimum ${number(optimum)}`); }
    else for (const end of new Set([curves.bounds?.lower, curves.bounds?.upper])) {
      if (end > 0) { rule("optimum", `M${LEFT} ${py(end)}H${wide - RIGHT}`); write("end optimum", wide - RIGHT, py(end) + 13, `${end === curves.bounds.upper ? "optimum at most" : "at least"} ${number(end)}`); }
    }
    curves.lines.forEach((line, k) => {
      if (line.seeds.length > 1 || line.success_low) rule(`band hue${k % 6}`, band(line));
      const last = px(line.steps.at(-1)).toFixed(1), first = px(line.steps[0]).toFixed(1);
      if (line.success_low) {
        const x = (i) => px(Math.max(line.steps[Math.min(i, line.steps.length - 1)], x0)).toFixed(1);
        rule(`band hue${k % 6}`, line.success_low.map((v, i) => `M${x(i)} ${share(line.success_high[i])}H${x(i + 1)}V${share(v)}H${x(i)}Z`).join(""));
        rule(`median hue${k % 6}`, stairs(line, line.failed.map((v) => 1 - v), share));
      } else rule(`failing hue${k % 6}`, `${stairs(line, line.failed, share)}H${last}V${share(0)}H${first}Z`);
      chart.append(svg("path", { class: `median hue${k % 6}`, d: stairs(line, line.median), "data-line": line.name }));
    });
    chart.append(seedLayer);
    clear(legend, ...curves.lines.map((line, k) => el("span", { class: `key hue${k % 6}`, text: `${line.name} (${line.seeds.length} seed${line.seeds.length > 1 ? "s" : ""}), ${line.median.at(-1) === null ? `${length(line, null)} at the end` : `ends at ${number(line.median.at(-1))}`}` })));
    drawSeeds();
  }
  function point(event) {
    const box = chart.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * wide;
    pointed = Math.exp(Math.log(x0) + ((x - LEFT) / (wide - LEFT - RIGHT)) * (Math.log(x1) - Math.log(x0)));
    drawSeeds();
  }
  function drawSeeds() {
    clear(seedLayer);
    const line = (name, v) => seedLayer.append(svg("path", { class: name, d: `M${px(Math.min(Math.max(v, x0), x1))} ${TOP}V${tall - BOTTOM}` }));
    if (moment !== null) line("moment", moment);
    if (pointed === null) { readout.textContent = ABOUT; return; }
    const told = [];
    curves.lines.forEach((line, k) => {
      if (line.seeds.length <= 12) line.seeds.forEach((row) => seedLayer.append(svg("path", { class: `seed hue${k % 6}`, d: stairs(line, row) })));
      const i = Math.max(line.steps.findLastIndex((step) => step <= pointed * 1.0001), 0);
      const values = line.seeds.map((row) => length(line, row[i]));
      const sure = line.success_low ? `, success ${number(1 - line.failed[i])} (${number(line.success_low[i])}-${number(line.success_high[i])})` : "";
      told.push(`${line.name} at ${number(line.steps[i])} steps: median ${length(line, line.median[i])}; seeds ${values.slice(0, 12).join(" ")}${values.length > 12 ? " …" : ""}${sure}`);
    });
    line("cursor", pointed);
    readout.textContent = told.join("\n");
  }
  draw();
  return { root, data: curves, mark(step) { moment = step; drawSeeds(); } };
}

function describe(curves) {
  const ends = curves.lines.map((line) => `${line.name} ${line.median.at(-1) === null ? "fails" : `takes ${number(line.median.at(-1))} steps`} after ${number(line.steps.at(-1))} training steps`);
  return `learning curves: ${ends.join("; ")}${curves.optimum === null ? "" : `; the optimum is ${number(curves.optimum)}`}`;
}

function ticks(low, high) {
  const round = [];
  for (let e = 0; e < 7; e++) for (const m of [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]) if (m * 10 ** e >= low && m * 10 ** e <= high) round.push(m * 10 ** e);
  const every = Math.ceil(round.length / 6);
  return round.filter((v, i) => Number.isInteger(v) && i % every === 0);
}

function powers(low, high) {
  const tens = [];
  for (let e = -4; e < 10; e++) if (10 ** e >= low * 0.999 && 10 ** e <= high * 1.001) tens.push(10 ** e);
  return tens.length > 1 ? tens : [low, ...tens.filter((v) => v > 2 * low && v < high / 2), high];
}

function short(v) {
  if (v >= 1e6) return `${number(v / 1e6)} M`;
  if (v >= 1e3) return `${number(v / 1e3)} k`;
  return number(v);
}
