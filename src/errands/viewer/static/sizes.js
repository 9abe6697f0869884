// How large the four machines of a family of tasks are, against the number of subtasks.
import { el, clear, toggle } from "./dom.js";
import { ask } from "./live.js";

const ROWS = [["numeric", "Numeric"], ["boolean", "Boolean"], ["agenda", "Agenda"], ["coupled", "Coupled"], ["policies", "Low-level policies"]];

export async function sizesView(options, changed) {
  let data = await ask("sizes", { family: options.family ?? "delivery" }).catch(() => ask("sizes", { family: "delivery" }));
  let n = Math.min(Math.max(Number(options.n) || 4, 1), data.rows.length);
  const slider = el("input", { type: "range", min: 1, max: data.rows.length, step: 1, value: n, "aria-label": "number of subtasks", oninput: () => { n = Number(slider.value); draw(); } });
  const count = el("output", { class: "counter" });
  const families = el("div", { class: "chips" });
  const table = el("div", { class: "sizes" });
  const root = el("section", { class: "card" }, el("h2", { text: "Sizes of the machines" }), families,
    el("div", { class: "row" }, slider, count), table,
    el("p", { class: "quiet", text: "Exact numbers, counted without building any machine. The length of a bar is the logarithm of its number." }));
  function draw() {
    const row = data.rows[n - 1];
    const most = Math.max(...ROWS.map(([key]) => digits(data.rows.at(-1)[key])), 1);
    count.textContent = `${n} subtask${n > 1 ? "s" : ""}`;
    slider.value = n;
    clear(families, ...data.families.map((name) => toggle(name, name === data.family, `machines like those of ${name}`, async () => { data = await ask("sizes", { family: name }); draw(); })));
    clear(table, ...ROWS.map(([key, name]) => {
      const fill = el("span", { class: "fill" });
      fill.style.width = `${Math.max(0.5, (100 * digits(row[key])) / most)}%`;
      return el("div", { class: "bar", "data-kind": key }, el("span", { class: "name", text: name }), el("span", { class: "track" }, fill), el("span", { class: "value", text: grouped(row[key]) }));
    }));
    changed({ family: data.family, n });
  }
  draw();
  return { root };
}

function digits(text) {
  return text.length - 1 + Math.log10(Number(`${text[0]}.${text.slice(1, 9)}`));
}

function grouped(text) {
  if (text.length <= 15) return BigInt(text).toLocaleString("en-US");
  return `${text[0]}.${text.slice(1, 4)} × 10^${text.length - 1}`;
}
