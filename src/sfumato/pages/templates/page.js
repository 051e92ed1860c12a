"use strict";
(() => {
  const held = JSON.parse(document.getElementById("held").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const shown = new Map();

  const is = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const series = () => Array.from({ length: 10 }, (_, at) => is(`--c${at}`));

  const look = () => {
    const words = { labelColor: is("--soft"), titleColor: is("--soft"), labelFont: is("--sans"), titleFont: is("--sans") };
    return {
      background: "transparent",
      font: is("--sans"),
      view: { stroke: null },
      axis: { ...words, domainColor: is("--line"), tickColor: is("--line"), gridColor: is("--faint"), gridOpacity: 0.55,
        labelFontSize: 12, titleFontSize: 13, titleFontWeight: 500, titlePadding: 10 },
      axisXQuantitative: { tickCount: 8 },
      axisYQuantitative: { tickCount: 6 },
      legend: { ...words, labelFontSize: window.innerWidth < 700 ? 11 : 12, titleFontSize: 12, titleFontWeight: 600, orient: "bottom", columns: window.innerWidth < 700 ? 1 : 3,
        symbolSize: 80, labelLimit: 320, columnPadding: 24, symbolFillColor: is("--soft"), symbolStrokeColor: is("--soft") },
      range: { category: series() },
      title: { color: is("--ink"), font: is("--sans"), fontSize: 13, fontWeight: 600, anchor: "start" },
      text: { fill: is("--soft"), font: is("--sans") },
    };
  };

  const draw = async (place) => {
    const painted = (_, value) => (typeof value === "string" && /^@[a-z]+[0-9]?$/.test(value) ? is(`--${value.slice(1)}`) || value : value);
    const spec = JSON.parse(JSON.stringify(held.charts[place.dataset.chart]), painted);
    const rows = held.rows[place.dataset.release];
    if (rows) spec.datasets = { rows: rows[place.dataset.chart] };
    if (rows && spec.height?.step) spec.height = spec.height.step * rows[place.dataset.chart].length;
    globalThis.sfumatoShape?.(spec, place);
    spec.config = look();
    const made = await vegaEmbed(place, spec, { actions: false, renderer: "svg", ast: true, tooltip: { theme: "custom" } });
    shown.get(place)?.finalize();
    shown.set(place, made);
    globalThis.sfumatoShown?.(made.view, place);
    place.dataset.drawn = "yes";
  };

  const drawInside = (panel) => panel.querySelectorAll("[data-chart]:not([data-drawn])").forEach(draw);
  document.querySelectorAll("[data-chart]").forEach((place) => { if (!place.closest("details:not([open])")) draw(place); });
  document.querySelectorAll("details").forEach((panel) => panel.addEventListener("toggle", () => panel.open && drawInside(panel)));
  const again = () => [...shown.keys()].forEach(draw);
  dark.addEventListener("change", again);
  if (globalThis.sfumatoShape) {  // a view that is laid out by the page; others follow their container themselves
    let [width, waiting] = [window.innerWidth, 0];
    window.addEventListener("resize", () => {
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      clearTimeout(waiting);
      waiting = setTimeout(again, 150);
    });
  }
})();
