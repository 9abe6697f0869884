// Building blocks: elements are made one by one and text is only ever set as text, so no name can become markup.
export const SVG = "http://www.w3.org/2000/svg";

export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function clear(node, ...children) {
  node.replaceChildren(...children);
  return node;
}

export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  return Number(value.toPrecision(digits)).toLocaleString("en-US");
}

// The class that gives a feature its colour on maps, in machines and in lists.
export function tintOf(name, tints) {
  return name in tints ? `tint${tints[name] % 6}` : "";
}

// A figure that is drawn elsewhere, as an image: nothing in it can run.
export function picture(figure) {
  return el("img", { class: "figure", alt: figure.about, src: `data:image/svg+xml,${encodeURIComponent(figure.svg)}` });
}

export function toggle(text, pressed, title, act) {
  return el("button", { type: "button", class: "chip", "aria-pressed": String(pressed), title, text, onclick: act });
}
