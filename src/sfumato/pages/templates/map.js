"use strict";
// Four views on one page: a destination chosen in the map or in the list is shown in all of them. page.js asks before it
// draws a view and tells when it has drawn one. A map does not follow its container by itself, so it is scaled here.
(() => {
  const views = new Map();
  let chosen, side_ = 1;
  const look = { zoom: 1, east: 0, south: 0 };

  // The map is zoomed around its middle and stays within reach of it.
  const moved = (change) => {
    const zoom = Math.min(Math.max(change.zoom ?? look.zoom, 1), 64);
    const by = zoom / look.zoom, most = (side_ / 2) * (zoom - 1) + side_ / 4;
    const held = (value) => (zoom === 1 ? 0 : Math.min(Math.max(value, -most), most));
    Object.assign(look, { zoom, east: held(look.east * by + (change.east ?? 0)), south: held(look.south * by + (change.south ?? 0)) });
    const view = views.get("map");
    if (!view) return;
    Object.entries(look).forEach(([name, value]) => view.signal(name, value));
    view.runAsync();
  };

  const moving = (place) => {
    document.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () =>
      moved(Number(button.dataset.zoom) ? { zoom: look.zoom * Number(button.dataset.zoom) } : { zoom: 1 })));
    place.addEventListener("wheel", (event) => { event.preventDefault(); moved({ zoom: look.zoom * (event.deltaY < 0 ? 1.25 : 0.8) }); }, { passive: false });
    const step = { ArrowLeft: { east: 60 }, ArrowRight: { east: -60 }, ArrowUp: { south: 60 }, ArrowDown: { south: -60 }, "+": 1.5, "-": 1 / 1.5 };
    place.addEventListener("keydown", (event) => {
      const found = step[event.key];
      if (found === undefined) return;
      event.preventDefault();
      moved(typeof found === "number" ? { zoom: look.zoom * found } : found);
    });
    let from = null;
    place.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY]; });
    addEventListener("pointerup", () => { from = null; });
    place.addEventListener("pointermove", (event) => {
      if (!from || look.zoom === 1) return;
      moved({ east: event.clientX - from[0], south: event.clientY - from[1] });
      from = [event.clientX, event.clientY];
    });
  };

  const choose = (destination) => {
    if (destination === undefined) return;
    chosen = destination;
    const list = document.getElementById("destination");
    if (list) {
      list.value = destination;
      const share = document.getElementById("prior");
      if (share && list.selectedOptions[0]) share.textContent = list.selectedOptions[0].dataset.prior;
    }
    views.forEach((view) => view.signal("chosen", chosen).runAsync());
  };

  const scale = (spec, place) => {
    const side = Math.min(spec.width, Math.max(place.clientWidth, 240));
    const factor = side / spec.width;
    spec.width = spec.height = side;
    side_ = side;
    spec.projection.scale = { expr: `${spec.projection.scale * factor} * zoom` };
    spec.projection.translate = { expr: `[${side / 2} + east, ${side / 2} + south]` };
    spec.layer.filter((layer) => layer.name?.startsWith("scale")).forEach(({ encoding }) =>
      ["x", "x2", "y"].forEach((channel) => { if (encoding[channel]) encoding[channel].value *= factor; }));
  };

  globalThis.sfumatoShape = (spec, place) => {
    if (place.dataset.chart === "map") { scale(spec, place); spec.padding = 0; }
    if (chosen !== undefined) spec.params.find((one) => one.name === "chosen").value = chosen;
  };

  globalThis.sfumatoShown = (view, place) => {
    if (place.dataset.chart === "map" && !views.has("map")) moving(place);
    views.set(place.dataset.chart, view);
    if (place.dataset.chart === "map" && look.zoom > 1) moved({});
    if (["map", "list"].includes(place.dataset.chart)) view.addEventListener("click", (_, item) => choose(item?.datum?.destination));
    globalThis.sfumatoViews = views;
  };

  const list = document.getElementById("destination");
  if (list) list.addEventListener("change", () => choose(list.value));
})();
