// The exported file: one replay from the data in the page, its view kept in the address.
import { replayView } from "./replay.js";

const replay = JSON.parse(document.getElementById("replay").textContent);
const options = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const shown = replayView(replay, options, (view) => {
  const kept = Object.entries(view).filter(([, value]) => value !== null);
  try { history.replaceState(null, "", `#${new URLSearchParams(kept)}`); } catch { /* some viewers of files forbid it */ }
});
document.getElementById("main").replaceChildren(shown.root);
document.addEventListener("keydown", shown.key);
document.documentElement.dataset.ready = "yes";
