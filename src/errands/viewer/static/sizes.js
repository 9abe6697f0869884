// How large the four machines of a family of tasks are, against the number of subtasks.
import { el, svg, clear, toggle } from "./dom.js";
import { ask } from "./live.js";

const ROWS = [["numeric", "Numeric"], ["boolean", "Boolean"], ["agenda", "Agenda"], ["coupled", "Coupled"], ["policies", "Low-level policies"]];

export async function sizesView(options, changed) {
  let data = await ask("sizes", { family: options.family ?? "delivery" }).catch(() => ask("sizes", { family: "delivery" }));
  let n = Math.min(Math.max(Number(options.n) || 4, 1), data.rows.length);
  const slider = el("input", { type: "range", min: 1, max: data.rows.length, step: 1, value: n, "aria-label": "number of subtasks", oninput: () => { n = Number(slider.value); draw(); } });
  const count = el("output", { class: "counter" });
  const families = el("div", { class: "chips" });
  const table = el("div", { class: "sizes" }), growth = el("div", { class: "growth" });
  const root = el("section", { class: "card" }, el("h2", { text: "Sizes of the machines" }), families,
    el("div", { class: "row" }, slider, count), table, growth,
    el("p", { class: "quiet", text: "Exact numbers, counted without building any machine. Bars are on a logarithmic scale." }));
  function draw() {
    const row = data.rows[n - 1];
    const all = Math.max(...ROWS.map(([key]) => digits(data.rows.at(-1)[key])), 1);
    const most = Math.max(...ROWS.map(([key]) => Math.ceil(digits(row[key]))), 1);
    count.textContent = `${n} subtask${n > 1 ? "s" : ""}`;
    slider.value = n;
    clear(families, ...data.families.map((name) => toggle(name, name === data.family, `machines like those of ${name}`, async () => { data = await ask("sizes", { family: name }); draw(); })));
    const scale = el("span", { class: "track scale" });
    for (let e = 0; e <= most; e += Math.max(1, Math.ceil(most / 8))) {
      const tick = el("span", { class: "tick", text: power(e) });
      tick.style.left = `${(100 * e) / most}%`;
      scale.append(tick);
    }
    clear(table, el("div", { class: "bar", "aria-hidden": "true" }, el("span"), scale, el("span")), ...ROWS.map(([key, name]) => {
      const fill = el("span", { class: "fill" });
      fill.style.width = `${Math.max(0.5, (100 * digits(row[key])) / most)}%`;
      return el("div", { class: "bar", "data-kind": key }, el("span", { class: "name", text: name }), el("span", { class: "track" }, fill), el("span", { class: "value", text: grouped(row[key]) }));
    }));
    clear(growth, growthChart(data.rows, all, n));
    changed({ family: data.family, n });
  }
  draw();
  return { root };
}

// All sizes against the number of subtasks, on a logarithmic axis; the chosen number is marked.
function growthChart(rows, most, n) {
  const wide = 1000, tall = 340, left = 52, right = 150, top = 10, bottom = 34;
  const x = (count) => left + ((count - 1) / (rows.length - 1)) * (wide - left - right);
  const y = (size) => tall - bottom - (size / most) * (tall - bottom - top);
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": "sizes of the machines against the number of subtasks" });
  for (let e = 0; e <= most; e += Math.max(1, Math.ceil(most / 6))) {
    chart.append(svg("path", { class: "gridline", d: `M${left} ${y(e)}H${wide - right}` }), svg("text", { class: "y", x: left - 6, y: y(e) + 4, text: power(e) }));
  }
  for (const row of rows) if (row.n === 1 || row.n % 5 === 0) chart.append(svg("text", { class: "x", x: x(row.n), y: tall - bottom + 16, text: row.n }));
  chart.append(svg("text", { class: "x title", x: (left + wide - right) / 2, y: tall - 3, text: "subtasks" }), svg("path", { class: "moment", d: `M${x(n)} ${top}V${tall - bottom}` }));
  let above = Infinity;
  const ends = ROWS.map(([key, name], k) => [y(digits(rows.at(-1)[key])), key, name, k]).sort((a, b) => b[0] - a[0]);
  for (const [end, key, name, k] of ends) {
    const at = Math.min(end, above - 15);
    above = at;
    chart.append(svg("path", { class: `median hue${k}`, d: rows.map((row, i) => `${i ? "L" : "M"}${x(row.n).toFixed(1)} ${y(digits(row[key])).toFixed(1)}`).join("") }),
      svg("text", { class: `hue${k} name`, x: wide - right + 8, y: at + 4, text: name }));
  }
  return chart;
}

const power = (e) => (e < 4 ? String(10 ** e) : `10^${e}`);

function digits(text) {
  return text.length - 1 + Math.log10(Number(`${text[0]}.${text.slice(1, 9)}`));
}

function grouped(text) {
  if (text.length <= 15) return BigInt(text).toLocaleString("en-US");
  return `${text[0]}.${text.slice(1, 4)} × 10^${text.length - 1}`;
}
