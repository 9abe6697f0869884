// The world: a grid with routes, arrows and a heat map, Water's arena, or HalfCheetah as a stick figure.
import { el, svg, clear } from "./dom.js";

const CELL = 40;
const MARGIN = 6, BESIDE = 11; // routes pass beside the letters of a cell

export function worldView(scene, pictures) {
  if (scene.kind === "pictures") return picturesView(pictures);
  if (scene.kind === "grid") return gridView(scene);
  if (scene.kind === "water" || scene.kind === "zones") return arenaView(scene);
  if (scene.kind === "cheetah") return cheetahView(scene);
  const words = el("p", { class: "words" });
  return { root: el("div", { class: "world" }, words), show: (frame) => { words.textContent = `state ${frame.at}`; } };
}

// A foreign environment, drawn by itself.
function picturesView(pictures) {
  const image = el("img", { class: "own", alt: "the environment's own picture of this step" });
  return { root: el("div", { class: "world" }, image), show: (frame) => { image.src = pictures[frame.at] ?? ""; image.alt = pictures[frame.at] ? image.alt : `state ${frame.at}`; } };
}

function gridView(scene) {
  const wide = scene.width * CELL, tall = scene.height * CELL;
  const root = svg("svg", {
    class: "world grid", viewBox: `${-MARGIN} ${-MARGIN} ${wide + 2 * MARGIN} ${tall + 2 * MARGIN}`, role: "img",
    "aria-label": `a grid of ${scene.width} by ${scene.height} cells`,
  });
  const centre = (cell) => [(cell % scene.width + 0.5) * CELL, (Math.floor(cell / scene.width) + 0.5) * CELL];
  const corner = (cell) => [cell % scene.width * CELL, Math.floor(cell / scene.width) * CELL];
  const heat = svg("g", { class: "heat" }), arrows = svg("g", { class: "arrows" }), routes = svg("g", { class: "routes" });
  const places = svg("g"), signs = svg("g"), walls = svg("g", { class: "walls" }), lines = svg("g", { class: "lines" });
  root.append(svg("rect", { class: "floor", width: wide, height: tall }));
  const marks = [];
  for (const [role, column, row, across, down, name, sign, tint] of scene.plan) {
    const x = column * CELL, y = row * CELL, width = across * CELL, height = down * CELL;
    const shape = across && down ? svg("rect", { x, y, width, height }) : svg("path", { d: `M${x} ${y}l${width} ${height}` });
    if (role !== "place") {
      if (role === "border") shape.classList.add(role);
      (role === "line" ? lines : walls).append(shape);
      continue;
    }
    const shown = sign.length > 5 ? `${sign.slice(0, 4)}…` : sign;
    const tinted = svg("g", { class: `place tint${tint % 6}` }, svg("title", { text: name }), shape);
    const text = svg("text", { class: "sign", x: x + width / 2, y: y + height / 2, text: shown });
    text.style.fontSize = `${Math.min(15, 60 / Math.max(shown.length, 1))}px`;
    places.append(tinted);
    signs.append(text);
    marks.push([name, tinted, text]);
  }
  const agent = svg("g", { class: "agent" }, svg("circle", { r: 9 }));
  root.append(places, heat, lines, walls, arrows, routes, signs, agent);
  root.style.maxWidth = `${scene.width * 84}px`;

  function route(cells, name, shift) {
    if (!cells || cells.length < 2) return null;
    const group = svg("g"), points = [];
    const draw = () => group.append(svg("polyline", { class: `route ${name}`, points: points.splice(0).map((p) => p.join(",")).join(" ") }));
    cells.forEach((cell, i) => {
      const [x, y] = centre(cell).map((v) => v + shift), [a, b] = centre(cells[Math.max(i - 1, 0)]).map((v) => v + shift);
      // Over the edge of a torus: half a cell out, and in on the other side.
      const [right, down] = [x - a, y - b].map((d) => (Math.abs(d) > CELL ? -Math.sign(d) * CELL / 2 : 0));
      if (right || down) {
        points.push([a + right, b + down]);
        draw();
        points.push([x - right, y - down]);
      }
      points.push([x, y]);
    });
    draw();
    return group;
  }
  const removed = new Set(scene.removed ?? []);
  return {
    root,
    show(frame, stand, subtasks) {
      const [x, y] = centre(frame.at);
      agent.style.transform = `translate(${x}px, ${y}px)`;
      const gone = new Set(subtasks.filter((name, i) => removed.has(name) && !stand.remaining[i]));
      for (const [name, ...parts] of marks) for (const node of parts) node.classList.toggle("gone", gone.has(name));
    },
    routes(learnt, optimal) {
      clear(routes, ...[route(optimal, "optimal", -BESIDE), route(learnt, "learnt", BESIDE)].filter(Boolean));
    },
    policy(map, withArrows, withHeat) {
      clear(arrows);
      clear(heat);
      if (!map) return;
      const closed = new Set(scene.plan.filter(([role]) => role === "blocked").map(([, x, y]) => y * scene.width + x));
      const free = map.actions.map((_, cell) => cell).filter((cell) => !closed.has(cell));
      if (withHeat && map.values) paintHeat(map.values, free);
      if (withArrows) for (const cell of free) if (map.actions[cell] >= 0) arrows.append(arrow(cell, map.actions[cell]));
    },
  };

  function arrow(cell, action) {
    const [x, y] = centre(cell);
    return svg("path", { d: "M-7 0H5M1 -4L6 0L1 4", transform: `translate(${x} ${y}) rotate(${[-90, 0, 90, 180][action]})` });
  }
  function paintHeat(values, free) {
    const known = free.map((c) => values[c]).filter((v) => v !== null);
    if (!known.length) return;
    const positive = known.every((v) => v > 0);
    const scale = (v) => (positive ? Math.log(v) : v);
    const low = Math.min(...known.map(scale)), high = Math.max(...known.map(scale));
    for (const cell of free) {
      if (values[cell] === null) continue;
      const [x, y] = corner(cell);
      const share = high > low ? (scale(values[cell]) - low) / (high - low) : 1;
      heat.append(svg("rect", { x, y, width: CELL, height: CELL, "fill-opacity": (0.05 + 0.6 * share).toFixed(3) },
        svg("title", { text: `value ${values[cell]}` })));
    }
  }
}

function arenaView(scene) {
  const size = scene.size;
  const root = svg("svg", { class: "world water", viewBox: `-4 -4 ${size + 8} ${size + 8}`, role: "img", "aria-label": scene.places ? "an arena with zones" : "an arena with balls" });
  root.append(svg("rect", { class: "floor border", width: size, height: size, rx: 6 }));
  const wanted = new Set(scene.wanted), minded = new Set(scene.minded);
  const kindOf = (colour) => (wanted.has(colour) ? "" : minded.has(colour) ? " minded" : " other");
  const balls = scene.balls.map((colour) =>
    svg("circle", { class: `ball ${scene.places ? "zone" : colour}${kindOf(colour)}`, r: scene.radius }, svg("title", { text: colour })));
  const words = (scene.places ?? []).map(([x, y], i) => svg("text", { class: "zone", x, y: size - y + 4, text: scene.balls[i].slice(1) }));
  for (const [x, y, width, height] of scene.walls ?? []) root.append(svg("rect", { class: "blocked", x, y: size - y - height, width, height }));
  const trail = svg("polyline", { class: "route learnt" });
  const agent = svg("g", { class: "swimmer" }, ...[scene.places ? 7 : scene.radius].flatMap((r) => [svg("circle", { r }), svg("circle", { class: "inner", r: r - 4 })]));
  root.append(trail, ...balls, ...words, agent);
  let path = [];
  return {
    root,
    routes(learnt) { path = learnt ?? []; },
    show(frame, stand, subtasks, index) {
      const [[ax, ay], ...rest] = frame.at;
      const left = new Set(subtasks.filter((_, i) => stand.remaining[i]));
      (scene.places ?? rest).forEach(([x, y], i) => {
        balls[i].setAttribute("cx", x);
        balls[i].setAttribute("cy", size - y);
        balls[i].classList.toggle("done", wanted.has(scene.balls[i]) && !left.has(scene.balls[i]));
      });
      agent.setAttribute("transform", `translate(${ax} ${size - ay})`);
      trail.setAttribute("points", path.slice(0, index + 1).map((at) => `${at[0][0]},${size - at[0][1]}`).join(" "));
    },
  };
}

function cheetahView(scene) {
  const half = 1.9, top = 1.7;
  const root = svg("svg", { class: "world cheetah", role: "img", "aria-label": "a robot seen from its side" });
  const limbs = svg("g", { class: "limbs" }), marks = svg("g", { class: "marks" });
  const ground = svg("path", { class: "ground" });
  root.append(ground, marks, limbs);
  for (const [name, x] of scene.marks) {
    marks.append(svg("path", { d: `M${x} 0V${-top + 0.35}` }), svg("text", { x, y: -top + 0.28, text: name, "data-name": name }));
  }
  for (let x = -12; x <= 12; x++) marks.append(svg("path", { class: "tick", d: `M${x} 0v0.05` }), svg("text", { class: "tick", x, y: 0.17, text: `${x}` }));
  return {
    root,
    routes() {},
    show(frame, stand, subtasks) {
      const x = frame.at.length ? (frame.at[0][0] + frame.at[0][2]) / 2 : 0;
      root.setAttribute("viewBox", `${x - half} ${-top} ${2 * half} ${top + 0.25}`);
      ground.setAttribute("d", `M${x - half} 0H${x + half}`);
      clear(limbs, ...frame.at.map(([x1, z1, x2, z2, r]) => svg("path", { d: `M${x1} ${-z1}L${x2} ${-z2}`, "stroke-width": 2 * r })));
      const left = new Set(subtasks.filter((_, i) => stand.remaining[i]));
      for (const text of marks.querySelectorAll("[data-name]")) text.classList.toggle("done", !left.has(text.dataset.name));
    },
  };
}
