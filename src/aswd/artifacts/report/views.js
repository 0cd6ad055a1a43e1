// The views: curves, particles, clouds of points, images. Each is an object with a `node`; curves also have the `rows` of their data.

const COLOURS = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"]; // as in the figures
const makeView = (view) => new { curves: Curves, particles: Particles, clouds: Clouds, images: Images }[view.kind](view);
const plots = new Map(); // node -> the function that draws it again, of the plots that have been drawn

/** The plotting library, unpacked when the first plot comes into sight. */
let library = null;
function loadPlotly() {
  library ??= (async () => {
    const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    document.head.append(element("script", { text: await new Response(stream).text() }));
  })();
  return library;
}

/** A packed array as its rows along the first axis, or flat if it has one axis only. */
function unpack({ type, shape, data }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const flat = Array.from(new { f4: Float32Array, i2: Int16Array }[type](bytes.buffer));
  const split = (values, [count, ...rest]) =>
    rest.length ? Array.from({ length: count }, (_, i) => split(values.slice((i * values.length) / count, ((i + 1) * values.length) / count), rest)) : values;
  return split(flat, shape);
}

const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;"); // plotly reads some markup
const colour = (index) => COLOURS[index % COLOURS.length];
const dash = (index) => (index < COLOURS.length ? "solid" : "dash");
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const translucent = (hex) => hex + "2b";
/** A colour that can be seen on the ground of the theme: half way to white if that is dark. */
const visible = (hex) => (isDark() ? "#" + hex.match(/\w\w/g).map((part) => Math.round((parseInt(part, 16) + 255) / 2).toString(16)).join("") : hex);
const axisName = (name) => name.replace(/^log10_/, "");

function layout(more = {}) {
  const axis = { gridcolor: style("--line"), zerolinecolor: style("--line"), linecolor: style("--line"), automargin: true, exponentformat: "power" };
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: style("--ink"), family: "system-ui, sans-serif", size: 12 },
    hoverlabel: { bgcolor: style("--card"), bordercolor: style("--line"), font: { color: style("--ink") }, namelength: -1 },
    margin: { l: 50, r: 10, t: 8, b: 42 },
    showlegend: false,
    hovermode: "closest",
    dragmode: isPhone() ? false : "zoom", // a finger scrolls the page
    uirevision: "kept",
    ...more,
    xaxis: { ...axis, ...more.xaxis },
    yaxis: { ...axis, ...more.yaxis },
  };
}

const config = { responsive: true, displaylogo: false, displayModeBar: false };
const isDark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const isPhone = () => innerWidth < 640;

/** Draw a plot when it comes into sight; `draw()` gives its traces and layout. */
const sight = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => (sight.unobserve(entry.target), entry.target.drawNow())),
  { rootMargin: "300px" },
);
function plot(label, draw, options = {}) {
  const node = element("div", { class: "plot", role: "img", "aria-label": label });
  const redraw = () => node.isConnected && Plotly.react(node, ...draw(), { ...config, ...options });
  node.drawNow = async () => {
    await loadPlotly();
    plots.set(node, redraw);
    redraw();
  };
  sight.observe(node);
  return node;
}
const redraw = (nodes) => nodes.forEach((node) => plots.get(node)?.());
function redrawAll() {
  for (const node of [...plots.keys()]) node.isConnected ? plots.get(node)() : plots.delete(node);
}

/** A panel: its title, a plot, and the plot in full size on request. */
function figureOf(title, label, draw, options) {
  const node = plot(label, draw, options);
  const enlarge = () => openViewer([[title || label, (place) => place.append(plot(label, draw, options))]], 0);
  const made = element("figure", {}, element("figcaption", { text: title }), button("⤢", enlarge, { class: "enlarge", "aria-label": `Enlarge: ${label}` }), node);
  return [made, node];
}

/** Buttons of which one is chosen. */
function choice(label, names, chosen, onChoice) {
  const node = element("span", { class: "choice", role: "radiogroup", "aria-label": label });
  const choose = (name) => {
    for (const each of node.children) each.setAttribute("aria-checked", each.dataset.name === name);
    onChoice(name);
  };
  for (const [name, text] of Object.entries(names)) {
    node.append(button(text, () => choose(name), { role: "radio", "data-name": name, "aria-checked": name === chosen }));
  }
  return node;
}

/** A button for each series that shows or hides it; `hidden` is the set of those that are hidden. */
function chips(labels, hidden, onChange) {
  const node = element("div", { class: "bar", role: "group", "aria-label": "Series" });
  const update = () => {
    for (const chip of node.querySelectorAll(".chip")) chip.setAttribute("aria-pressed", !hidden.has(chip.dataset.label));
    onChange();
  };
  labels.forEach((label, index) => {
    const toggle = () => (hidden.delete(label) || hidden.add(label), update());
    const chip = button("", toggle, { class: "chip", "data-label": label, "aria-pressed": !hidden.has(label) });
    const swatch = element("i", { "aria-hidden": "true", style: `background: ${colour(index)}` });
    chip.append(swatch, label);
    node.append(chip);
  });
  if (labels.length > 2) {
    node.append(button("all", () => (hidden.clear(), update())), button("none", () => (labels.forEach((label) => hidden.add(label)), update())));
  }
  return node;
}

const unique = (values) => [...new Set(values)];

class Curves {
  constructor(view) {
    this.node = element("section");
    this.hidden = new Set();
    this.scales = {};
    this.show(view);
  }

  /** Show other data with the choices that were made. */
  show(view) {
    const names = (each) => JSON.stringify([each?.panels.map((panel) => [panel.title, panel.y]), this.labelsOf(each)]);
    const isNew = names(view) !== names(this.view);
    this.view = view;
    this.panels = view.panels.map((panel) => ({
      ...panel,
      series: panel.series.map((one) => ({ ...one, x: unpack(one.x), values: unpack(one.values), summary: unpack(one.summary) })),
    }));
    if (isNew) this.build();
    else redraw(this.plots);
  }

  labelsOf(view) {
    return unique((view?.panels ?? []).flatMap((panel) => panel.series.map((one) => one.label)));
  }

  build() {
    const { view } = this;
    const update = () => redraw(this.plots);
    const few = this.panels.some((panel) => panel.series.some((one) => one.seeds.length > 1 && one.summary.length < 3));
    this.mode ??= few && view.average === "mean" ? "each" : "average";
    this.labels = this.labelsOf(view);
    const averaged = view.average === "mean" ? "mean and 95 % interval" : view.average;
    const scales = { linear: "linear", log: "logarithmic" };
    const first = view.panels[0];
    this.scales.x ??= first.x_scale ?? "linear";
    this.scales.y ??= first.y_scale ?? (first.y.startsWith("log10_") ? "log" : "linear");
    const controls = element("div", { class: "bar" });
    controls.append(choice("Show", { average: averaged, each: `every ${view.each}` }, this.mode, (mode) => ((this.mode = mode), update())));
    for (const axis of ["y", "x"]) {
      const choose = (scale) => ((this.scales[axis] = scale), update());
      controls.append(element("span", { class: "labelled" }, `${axis}: `, choice(`${axis} axis`, scales, this.scales[axis], choose)));
    }
    const made = view.panels.map((panel, index) => {
      const title = [panel.title, axisName(panel.y)].filter(Boolean).join(": ");
      return figureOf(title, `Curves of ${title} over ${panel.x}: ${panel.series.map((one) => one.label).join(", ")}`, () => this.draw(index));
    });
    this.plots = made.map(([, node]) => node);
    this.node.replaceChildren(
      element("h3", { text: view.title }),
      chips(this.labels, this.hidden, update),
      controls,
      element("div", { class: "panels" }, ...made.map(([figure]) => figure)),
    );
  }

  draw(index) {
    const panel = this.panels[index];
    const isLog = panel.y.startsWith("log10_"); // averaged as logarithms
    const value = (number) => (isLog ? 10 ** number : number);
    const traces = panel.series.filter((one) => !this.hidden.has(one.label)).flatMap((one) => this.traces(one, value));
    const unified = this.mode === "average" && panel.series.length < 16 ? { hovermode: "x unified" } : {};
    const axes = { xaxis: { title: { text: plain(panel.x) }, type: this.scales.x }, yaxis: { title: { text: plain(axisName(panel.y)) }, type: this.scales.y } };
    return [traces, layout({ ...unified, ...axes })];
  }

  traces(one, value) {
    const number = this.labels.indexOf(one.label);
    const shade = colour(number);
    const few = { mode: one.x.length < 12 ? "lines+markers" : "lines" };
    const line = (y, more) => ({ x: one.x, y: y.map(value), ...few, name: plain(one.label), line: { color: shade, width: 1.8, dash: dash(number) }, ...more });
    if (one.published) {
      return [line(one.summary[0], { mode: "lines+markers", name: plain(`${one.label}, published`), line: { color: shade, width: 1, dash: "dot" }, marker: { symbol: "x", color: shade } })];
    }
    if (this.mode === "each") {
      return one.values.map((row, i) => line(row, { name: plain(`${one.label}, ${this.view.each} ${one.seeds[i]}`), line: { color: shade, width: 1, dash: dash(number) } }));
    }
    const [mean, low, high] = one.summary;
    if (!low) return [line(mean)];
    const limits = high.map((_, i) => `${value(low[i]).toPrecision(3)} to ${value(high[i]).toPrecision(3)}`);
    const edge = { mode: "lines", line: { width: 0 }, hoverinfo: "skip" };
    const lower = low.map((number, i) => (this.scales.y === "log" && value(number) <= 0 ? Math.abs(mean[i]) / 100 : number)); // as far as it can be shown
    return [
      line(lower, edge),
      line(high, { ...edge, fill: "tonexty", fillcolor: translucent(shade) }),
      line(mean, { customdata: limits, hovertemplate: "%{y:.3g} (%{customdata})" }),
    ];
  }

  /** The data as rows: panel, metric, series, seed, x, value. */
  rows() {
    return this.panels.flatMap((panel) =>
      panel.series.flatMap((one) =>
        one.values.flatMap((row, i) => row.map((value, k) => [panel.title, panel.y, one.label, one.published ? "published" : one.seeds[i], one.x[k], value])),
      ),
    );
  }
}

class Particles {
  constructor(view) {
    this.view = view;
    this.labels = unique(view.groups.flatMap((group) => group.panels.map((panel) => panel.label)));
    this.hidden = new Set(this.labels.slice(isPhone() ? 2 : 6));
    this.slider = element("input", { type: "range", min: 0, value: 0, input: () => (this.stop(), this.move()), "aria-label": `${view.title}: ${view.unit}` });
    this.steps = element("output", { class: "steps" });
    this.player = button("▶ Play", () => (this.timer ? this.stop() : this.play()));
    this.body = element("div", { class: "panels small" });
    const titles = Object.fromEntries(view.groups.map((group, index) => [index, group.title]));
    const groups = choice("Data", titles, "0", (index) => (this.stop(), this.open(index)));
    const bar = element("div", { class: "bar" }, this.player, this.slider, this.steps);
    this.node = element("section", {}, element("h3", { text: view.title }), ...(view.groups.length > 1 ? [element("div", { class: "bar" }, groups)] : []));
    this.node.append(chips(this.labels, this.hidden, () => this.build()), bar, this.body);
    this.open(0);
  }

  open(index) {
    this.group = this.view.groups[index];
    this.clouds = new Map(this.group.panels.map((panel) => [panel.label, unpack(panel.frames)]));
    this.target = this.group.target && unpack(this.group.target);
    this.slider.max = this.group.steps.length - 1;
    this.slider.value = 0;
    this.build();
  }

  build() {
    this.panels = this.group.panels.filter((panel) => !this.hidden.has(panel.label));
    const made = this.panels.map((panel) => {
      const label = `${this.view.title} of ${panel.label}, ${this.group.title}`;
      return figureOf(panel.label, label, () => this.draw(panel), { staticPlot: true });
    });
    this.plots = made.map(([, node]) => node);
    this.body.replaceChildren(...made.map(([figure]) => figure));
    this.move();
  }

  get step() {
    return this.group.steps[this.slider.value];
  }

  /** The particles of a panel at the step of the slider: those of the last step that it has until then. */
  points(panel) {
    const { steps } = panel;
    const index = typeof this.step === "string" ? steps.indexOf(this.step) : steps.findLastIndex((step) => step <= this.step);
    return this.clouds.get(panel.label)[Math.max(0, index)];
  }

  draw(panel) {
    const mixed = this.group.colours?.[this.step];
    const shade = mixed ? visible(mixed) : colour(this.labels.indexOf(panel.label));
    const dots = (points, color, size) => ({ x: points.map((p) => p[0]), y: points.map((p) => p[1]), mode: "markers", marker: { color, size } });
    const still = this.target ? [dots(this.target, style("--faint"), 3)] : [];
    const axis = { range: [-32000, 32000], visible: false, fixedrange: true };
    return [[...still, dots(this.points(panel), shade, 4)], layout({ xaxis: axis, yaxis: { ...axis, scaleanchor: "x" }, margin: { l: 2, r: 2, t: 2, b: 2 } })];
  }

  move() {
    this.steps.textContent = `${this.view.unit} ${this.step}`;
    this.slider.setAttribute("aria-valuetext", this.steps.textContent);
    if (this.group.colours) redraw(this.plots);
    else this.plots.forEach((node, index) => plots.has(node) && this.shift(node, this.panels[index]));
  }

  /** Move the particles of a plot, which is many times faster than drawing it again. */
  shift(node, panel) {
    const points = this.points(panel);
    const frame = { data: [{ x: points.map((p) => p[0]), y: points.map((p) => p[1]) }], traces: [this.target ? 1 : 0] };
    Plotly.animate(node, frame, { mode: "immediate", transition: { duration: 0 }, frame: { duration: 0, redraw: false } });
  }

  play() {
    if (this.slider.value === this.slider.max) this.slider.value = 0;
    this.player.textContent = "❚❚ Pause";
    this.timer = setInterval(() => {
      this.slider.stepUp();
      this.move();
      if (this.slider.value === this.slider.max) this.stop();
    }, 150);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.player.textContent = "▶ Play";
  }
}

class Clouds {
  constructor(view) {
    this.view = view;
    this.panels = view.panels.map((panel) => ({ ...panel, points: unpack(panel.points), classes: panel.classes && unpack(panel.classes) }));
    this.classes = unique(this.panels.flatMap((panel) => panel.classes ?? [])).sort((a, b) => a - b).map(String);
    this.hidden = new Set();
    const made = this.panels.map((panel) =>
      figureOf(panel.label, `${view.title}: ${panel.label}, ${panel.points.length} points`, () => this.draw(panel)),
    );
    const nodes = made.map(([, node]) => node);
    this.node = element("section", {}, element("h3", { text: view.title }));
    if (this.classes.length) this.node.append(chips(this.classes, this.hidden, () => redraw(nodes)));
    this.node.append(element("div", { class: "panels small" }, ...made.map(([figure]) => figure)));
  }

  draw(panel) {
    const { centre, half } = this.view;
    const dots = (points, name, color) => ({ x: points.map((p) => p[0]), y: points.map((p) => p[1]), mode: "markers", name, hoverinfo: "name+x+y", marker: { color, size: 4 } });
    const traces = panel.classes
      ? this.classes.map((name, i) => dots(panel.points.filter((_, k) => String(panel.classes[k]) === name), `class ${name}`, colour(i)))
      : [dots(panel.points, plain(panel.label), style("--faint"))];
    const shown = traces.filter((_, i) => !panel.classes || !this.hidden.has(this.classes[i]));
    const range = (middle) => [middle - half, middle + half];
    return [shown, layout({ xaxis: { range: range(centre[0]) }, yaxis: { range: range(centre[1]), scaleanchor: "x" }, margin: { l: 30, r: 4, t: 4, b: 24 } })];
  }
}

class Images {
  constructor(view) {
    const items = view.items.map((item) => [item.label, (node) => showImage(node, item.source, item.label)]);
    const thumbs = view.items.map((item, index) => {
      const made = button("", () => openViewer(items, index), { class: "thumb", "aria-label": `Full size: ${item.label}` });
      made.append(element("img", { src: item.source, alt: "", width: item.width, height: item.height, loading: "lazy" }), element("span", { text: item.label }));
      return made;
    });
    this.node = element("section", {}, element("h3", { text: view.title }), element("div", { class: "panels images" }, ...thumbs));
  }
}
