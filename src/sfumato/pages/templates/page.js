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

  // The word beside the ring of the recommended release goes to the nearest place where it covers nothing.
  const placeWord = (view, place) => {
    const word = place.querySelector(".chosen_marks text")?.getBoundingClientRect();
    const ring = place.querySelector(".ring_marks path")?.getBoundingClientRect();
    if (!word || !ring) return;
    const box = (left, top, width, height) => ({ left, top, right: left + width, bottom: top + height });
    const meet = (one, other) => one.left < other.right + 3 && other.left < one.right + 3 && one.top < other.bottom + 3 && other.top < one.bottom + 3;
    const boxes = (selector) => [...place.querySelectorAll(selector)].map((node) => node.getBoundingClientRect());
    const names = [...place.querySelectorAll(".mark-text text")].filter((node) => !node.closest(".chosen_marks")).map((node) => node.getBoundingClientRect());
    const taken = [...boxes(".points_marks path"), ...names, ring];
    const lines = [...place.querySelectorAll(".mark-line path")].flatMap((path) => {
      const [frame, long] = [path.getScreenCTM(), path.getTotalLength()];
      return Array.from({ length: Math.ceil(long / 4) }, (_, at) => path.getPointAtLength(at * 4).matrixTransform(frame));
    }).map((point) => box(point.x, point.y, 0, 0));
    const frame = place.querySelector(".role-frame .background").getBoundingClientRect();
    const [x, y, near] = [(ring.left + ring.right) / 2, (ring.top + ring.bottom) / 2, ring.width / 2 + 5];
    let best = null;
    for (const far of [0, 12, 24, 40, 60, 85]) {
      const across = [x + near + far, x - near - far - word.width, x - word.width / 2];
      const along = [y - near - far - word.height, y + near + far, y - word.height / 2];
      across.forEach((left, column) => along.forEach((top, row) => {
        const here = box(left, top, word.width, word.height);
        const inside = here.left >= frame.left && here.right <= frame.right && here.top >= frame.top && here.bottom <= frame.bottom;
        const covered = taken.filter((one) => meet(here, one)).length;
        const price = (inside ? 0 : 1000) + 100 * covered + (lines.some((one) => meet(here, one)) ? 10 : 0) + far / 12 + (column + row) / 10;
        if (!best || price < best.price) best = { price, dx: left - x, dy: top + word.height / 2 - y };
      }));
    }
    view.signal("wordx", best.dx).signal("wordy", best.dy).run();
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
    if (place.dataset.chart === "frontier") {
      made.view.addEventListener("click", (_, item) => visit(item?.datum?.number));
      made.view.addResizeListener(() => requestAnimationFrame(() => placeWord(made.view, place)));
      placeWord(made.view, place);
    }
    globalThis.sfumatoShown?.(made.view, place);
    place.dataset.drawn = "yes";
  };

  const visit = (number) => {
    const panel = number === undefined ? null : document.getElementById(`release-${number}`);
    if (!panel) return;
    panel.open = true;
    panel.scrollIntoView({ block: "start" });
    panel.querySelector("summary").focus({ preventScroll: true });
  };

  const drawInside = (panel) => panel.querySelectorAll("[data-chart]:not([data-drawn])").forEach(draw);
  document.querySelectorAll("[data-chart]").forEach((place) => { if (!place.closest("details:not([open])")) draw(place); });
  document.querySelectorAll("details").forEach((panel) => panel.addEventListener("toggle", () => panel.open && drawInside(panel)));
  document.querySelectorAll("a[href^='#release-']").forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    visit(link.hash.replace("#release-", ""));
  }));
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
