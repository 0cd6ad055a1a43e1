// The sweeps of the store while they run, asked for every two seconds.

const live = { curves: null, artifacts: null, shown: "" };

/** One sweep: how far it is, and its runs that are running or failed. */
function sweepNode(sweep) {
  const done = sweep.counts.done ?? 0;
  const counts = Object.entries(sweep.counts).flatMap(([state, count]) => [element("span", { class: `verdict ${state}`, text: `${count} ${state}` }), " "]);
  const node = element("div", {}, element("h3", { text: `${sweep.name} (${sweep.launcher})` }));
  node.append(element("progress", { max: sweep.total, value: done, "aria-label": `${done} of ${sweep.total} runs are done` }));
  node.append(element("p", {}, `${sweep.summary}; of ${sweep.total} runs: `, ...counts));
  if (sweep.rows.length) {
    const head = element("tr", {}, ...["run", "seed", "state", ""].map((name) => element("th", { scope: "col", text: name })));
    const rows = sweep.rows.map(([title, seed, state, text]) =>
      element("tr", {}, element("td", { text: title }), element("td", { text: seed }), element("td", { class: `verdict ${state}`, text: state }), element("td", { text })),
    );
    const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
    node.append(element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Running and failed runs" }, table));
  }
  if (sweep.left_out) node.append(element("p", { class: "hint", text: `and ${sweep.left_out} more` }));
  return node;
}

/** The curves so far, of the metric that is chosen. */
function showCurves(state) {
  const place = document.getElementById("live-curves");
  if (!state.view) return;
  if (!live.curves) {
    live.curves = new Curves(state.view);
    live.metric = element("select", { change: () => ((live.curves.scales.y = null), ask()) });
    place.append(element("label", {}, "metric ", live.metric), element("p", { class: "hint" }), live.curves.node);
  } else live.curves.show(state.view);
  if (live.metric.options.length !== state.metrics.length) live.metric.replaceChildren(...state.metrics.map((name) => element("option", { text: name })));
  live.metric.value = state.metric;
  place.querySelector(".hint").textContent = state.left_out ? `${state.left_out} further configurations are left out` : "";
}

function showState(state) {
  const shown = JSON.stringify(state.sweeps);
  if (shown !== live.shown) {
    live.shown = shown;
    document.getElementById("sweeps").replaceChildren(...state.sweeps.map(sweepNode));
  }
  live.artifacts ??= state.artifacts;
  const note = state.artifacts !== live.artifacts ? "There are new figures: load the page again." : state.sweeps.length ? "" : "There are no sweeps yet.";
  setNote(note);
  showCurves(state);
}

function setNote(text) {
  const note = document.getElementById("live-note");
  if (note.textContent !== text) note.textContent = text; // what has not changed is not read out again
}

async function ask() {
  try {
    const answer = await fetch("live.json" + (live.metric ? `?metric=${encodeURIComponent(live.metric.value)}` : ""));
    showState(await answer.json());
  } catch (error) {
    setNote(`No answer from aswd report --live (${error.message}); the page shows what it last knew.`);
  }
}

document.addEventListener("DOMContentLoaded", async () => {
  for (;;) {
    await ask();
    await new Promise((resume) => setTimeout(resume, 2000));
  }
});
