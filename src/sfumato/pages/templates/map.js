"use strict";
// Four views on one page: a destination chosen in the map or in the list is told to all of them. page.js asks before it
// draws a view and tells when it has drawn one. A map does not follow its container by itself, so it is scaled here.
(() => {
  const views = new Map();
  let chosen;

  const choose = (destination) => {
    if (destination === undefined) return;
    chosen = destination;
    views.forEach((view) => view.signal("chosen", chosen).runAsync());
  };

  const scale = (spec, place) => {
    const side = Math.min(spec.width, Math.max(place.clientWidth, 240));
    const factor = side / spec.width;
    spec.width = spec.height = side;
    spec.projection.scale *= factor;
    spec.projection.translate = [side / 2, side / 2];
    spec.layer.filter((layer) => layer.name?.startsWith("scale")).forEach(({ encoding }) =>
      ["x", "x2", "y"].forEach((channel) => { if (encoding[channel]) encoding[channel].value *= factor; }));
  };

  globalThis.sfumatoShape = (spec, place) => {
    if (place.dataset.chart === "map") { scale(spec, place); spec.padding = 0; }
    if (chosen !== undefined) spec.params.find((one) => one.name === "chosen").value = chosen;
  };

  globalThis.sfumatoShown = (view, place) => {
    views.set(place.dataset.chart, view);
    if (["map", "list"].includes(place.dataset.chart)) view.addEventListener("click", (_, item) => choose(item?.datum?.destination));
    globalThis.sfumatoViews = views;
  };
})();
