// Drawing a grid with the mouse: pick what to draw, then press and drag; the rows of the task file follow.
import { el, svg, clear, tintOf, toggle } from "./dom.js";

const CELL = 30;

export function gridEditor(changed) {
  const palette = el("div", { class: "chips" });
  const board = svg("svg", { class: "board", role: "img", "aria-label": "the drawn grid" });
  const smaller = (text, title, act) => el("button", { type: "button", class: "chip", text, title, onclick: act });
  const resize = el("div", { class: "chips" },
    smaller("+ row", "one more row", () => set([...rows, ".".repeat(rows[0].length)])),
    smaller("− row", "without the last row", () => set(rows.slice(0, -1))),
    smaller("+ column", "one more column", () => set(rows.map((row) => `${row}.`))),
    smaller("− column", "without the last column", () => set(rows.map((row) => row.slice(0, -1)))));
  const root = el("div", { class: "drawing" }, palette, board, resize);
  let rows = [], legend = {}, tints = {}, pen = "#", drawing = false;

  board.addEventListener("pointerdown", (event) => { drawing = true; board.setPointerCapture(event.pointerId); paint(event); event.preventDefault(); });
  board.addEventListener("pointermove", (event) => { if (drawing) paint(event); });
  board.addEventListener("pointerup", () => { drawing = false; changed(rows); });

  function set(next) {
    if (!next.length || !next[0].length || next.length > 40 || next[0].length > 40) return;
    rows = next;
    draw();
    changed(rows);
  }
  function paint(event) {
    const box = board.getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) / box.width) * rows[0].length), y = Math.floor(((event.clientY - box.top) / box.height) * rows.length);
    if (y < 0 || y >= rows.length || x < 0 || x >= rows[0].length || rows[y][x] === pen) return;
    const put = (row, at, letter) => row.slice(0, at) + letter + row.slice(at + 1);
    if (pen === "A") rows = rows.map((row) => row.replaceAll("A", "."));
    rows = rows.map((row, i) => (i === y ? put(row, x, pen) : row));
    draw();
  }
  function draw() {
    const pens = [["#", "wall"], [".", "free"], ["A", "start"], ...Object.entries(legend)];
    clear(palette, ...pens.map(([letter, name]) => toggle(name, pen === letter, `draw ${name} (${letter})`, () => { pen = letter; draw(); })));
    if (!rows.length) return;
    board.setAttribute("viewBox", `0 0 ${rows[0].length * CELL} ${rows.length * CELL}`);
    board.style.maxWidth = `${rows[0].length * 40}px`;
    clear(board);
    rows.forEach((row, y) => [...row].forEach((letter, x) => {
      const kind = letter === "#" ? "wall" : letter === "." ? "free" : letter === "A" ? "start" : tintOf(legend[letter] ?? letter, tints);
      const group = svg("g", { class: `cell ${kind}` }, svg("rect", { x: x * CELL, y: y * CELL, width: CELL, height: CELL }));
      if (letter !== "#" && letter !== ".") group.append(svg("text", { x: (x + 0.5) * CELL, y: (y + 0.5) * CELL, text: legend[letter] ?? letter }));
      board.append(group);
    }));
  }
  return {
    root,
    show(nextRows, nextLegend, nextTints) {
      if (drawing) return;
      const width = Math.max(...nextRows.map((row) => row.length));
      rows = nextRows.map((row) => row.padEnd(width, "."));
      legend = nextLegend;
      tints = nextTints;
      draw();
    },
  };
}

// The text of a task file with other rows; strings are stepped over, so a bracket inside a row does no harm.
export function withRows(text, rows) {
  const start = text.search(/^\s*rows\s*=\s*\[/m);
  if (start < 0) return text;
  const open = text.indexOf("[", start);
  let at = open + 1, quote = null;
  for (; at < text.length; at++) {
    if (quote) { if (text[at] === "\\" && quote === '"') at++; else if (text[at] === quote) quote = null; }
    else if (text[at] === '"' || text[at] === "'") quote = text[at];
    else if (text[at] === "]") break;
  }
  const lines = rows.map((row) => `  ${JSON.stringify(row)},`);
  return `${text.slice(0, open)}[\n${lines.join("\n")}\n]${text.slice(at + 1)}`;
}
