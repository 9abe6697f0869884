// Talking to the server: questions, requests, and the stream of a run's progress.
export async function ask(what, options = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(options)) {
    for (const one of [value].flat()) if (one !== null && one !== undefined) query.append(name, one);
  }
  return answer(await fetch(`api/${what}?${query}`));
}

export async function tell(what, body) {
  return answer(await fetch(`api/${what}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }));
}

async function answer(response) {
  if ((response.headers.get("content-type") ?? "").includes("json")) {
    const value = await response.json();
    if (response.ok) return value;
    throw new Error(value.error ?? response.statusText);
  }
  throw new Error((await response.text()).trim() || response.statusText);
}

// Calls `progress` whenever the run has come further and `end` once it goes no further; returns a function that stops it.
export function watch(run, progress, end) {
  const source = new EventSource(`api/events?run=${encodeURIComponent(run)}`);
  source.addEventListener("progress", (event) => progress(JSON.parse(event.data)));
  source.addEventListener("end", () => { source.close(); end?.(); });
  return () => source.close();
}
