"use strict";
// The report's own script: draws the frontier, switches its privacy axis, sorts the table, copies commands, answers
// COUNT questions from the numbers in the page. Nothing is fetched or sent; without it the tables hold every figure.
(() => {
  const held = JSON.parse(document.getElementById("held").textContent);
  const at = (id) => document.getElementById(id);
  const make = (name, attributes = {}, ...inside) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
    node.append(...inside);
    return node;
  };
  const short = (value) => (value === 0 ? "0" : Math.abs(value) >= 1e5 || Math.abs(value) < 1e-4 ? value.toExponential(1) : String(+value.toPrecision(3)));

  // Even steps of 1, 2 or 5 times a power of 10.
  const ticks = (low, high, most) => {
    const rough = (high - low) / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
    const found = [];
    for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(Math.abs(value) < step / 1e6 ? 0 : value);
    return found;
  };

  const apart = (one, other, gap = 2) => one.right + gap <= other.left || other.right + gap <= one.left || one.bottom + gap <= other.top || other.bottom + gap <= one.top;

  const draw = (place, axis) => {
    const wide = Math.max(place.clientWidth, 260), narrow = wide < 560, high = narrow ? 380 : 460;
    const [xs, ys] = [axis.domain, held.utility.domain];
    const longest = Math.max(...ticks(...ys, 6).map((value) => short(value).length));
    const edge = { left: 34 + 7.5 * longest, right: 22, top: 24, bottom: 50 };
    const box = { width: wide - edge.left - edge.right, height: high - edge.top - edge.bottom };
    const rows = held.points.filter((row) => row.risks[axis.name]);
    const clamp = (value, [low, top]) => Math.min(Math.max(value, low), top);
    const x = (value) => edge.left + (clamp(value, xs) - xs[0]) / (xs[1] - xs[0]) * box.width;
    const y = (value) => edge.top + box.height - (clamp(value, ys) - ys[0]) / (ys[1] - ys[0]) * box.height;
    const svg = make("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "group", "aria-label": `Releases by ${axis.words} and ${held.utility.words}` });
    const word = (text, attributes) => make("text", attributes, text);
    ticks(...xs, narrow ? 4 : 8).forEach((value) => svg.append(
      make("line", { class: "grid", x1: x(value), x2: x(value), y1: edge.top, y2: edge.top + box.height }),
      word(short(value), { class: "tick", x: x(value), y: edge.top + box.height + 18, "text-anchor": "middle" })));
    ticks(...ys, 6).forEach((value) => svg.append(
      make("line", { class: "grid", x1: edge.left, x2: edge.left + box.width, y1: y(value), y2: y(value) }),
      word(short(value), { class: "tick", x: edge.left - 8, y: y(value) + 4, "text-anchor": "end" })));
    svg.append(
      make("line", { class: "rule", x1: edge.left, x2: edge.left + box.width, y1: edge.top + box.height, y2: edge.top + box.height }),
      make("line", { class: "rule", x1: edge.left, x2: edge.left, y1: edge.top, y2: edge.top + box.height }),
      word(`${axis.title}`, { class: "title", x: edge.left + box.width / 2, y: high - 8, "text-anchor": "middle" }),
      word(`${held.utility.title}`, { class: "title", x: 0, y: 0, transform: `translate(13 ${edge.top + box.height / 2}) rotate(-90)`, "text-anchor": "middle" }));
    const names = [];
    const named = (text, attributes) => { const node = word(text, attributes); svg.append(node); names.push(node); };
    const level = held.utility.marks.filter((mark) => mark.number <= ys[1]).map((mark) => y(mark.number) - edge.top).filter((down) => down < 60);
    const clear = level.length ? Math.max(...level) + 6 : 4;  // names of upright lines begin below those of level ones
    axis.marks.filter((mark) => mark.number <= xs[1]).forEach((mark) => {
      svg.append(make("line", { class: "mark-line", x1: x(mark.number), x2: x(mark.number), y1: edge.top, y2: edge.top + box.height }));
      named(mark.name, { class: "mark-name", transform: `translate(${x(mark.number) - 5} ${edge.top + clear}) rotate(-90)`, "text-anchor": "end" });
    });
    held.utility.marks.filter((mark) => mark.number <= ys[1]).forEach((mark) => {
      svg.append(make("line", { class: "mark-line", x1: edge.left, x2: edge.left + box.width, y1: y(mark.number), y2: y(mark.number) }));
      named(mark.name, { class: "mark-name", x: edge.left + 6, y: y(mark.number) - 5 });
    });
    const step = (numbers, name) => {
      const path = numbers.map((number) => rows.find((row) => row.number === number)).filter(Boolean)
        .sort((one, other) => one.risks[axis.name].mean - other.risks[axis.name].mean || other.utility.mean - one.utility.mean)
        .map((row, place) => place ? `H${x(row.risks[axis.name].mean)}V${y(row.utility.mean)}` : `M${x(row.risks[axis.name].mean)},${y(row.utility.mean)}`);
      if (path.length) svg.append(make("path", { class: `step ${name}`, d: path.join("") }));
    };
    step(axis.efficient, "all");
    if (axis.apart.length) step(axis.apart, "without-buckets");
    const drawn = [];
    [...rows].sort((one, other) => (one.number === held.best) - (other.number === held.best)).forEach((row) => {
      const [risk, use] = [row.risks[axis.name], row.utility];
      const colour = `var(--${row.colour})`;
      const plain = !axis.efficient.includes(row.number) && row.number !== held.best;
      if (risk.high > risk.low && !(plain && row.attacked)) svg.append(make("line", { class: "spread", style: `stroke:${colour}`, x1: x(risk.low), x2: x(risk.high), y1: y(use.mean), y2: y(use.mean) }));
      if (use.high > use.low) svg.append(make("line", { class: "spread", style: `stroke:${colour}`, x1: x(risk.mean), x2: x(risk.mean), y1: y(use.low), y2: y(use.high) }));
      const far = risk.mean > xs[1] || use.mean > ys[1];
      const beaten = !axis.efficient.includes(row.number) && !axis.apart.includes(row.number) && row.number !== held.best;
      const text = `${row.label}. ${axis.words} ${risk.text}, ${held.utility.words} ${use.text}${far ? ", beyond the edge of the picture" : ""}${row.number === held.best ? ", recommended" : ""}${row.breaks ? `, breaks the policy: ${row.breaks}` : ""}`;
      const link = make("a", { href: `#release-${row.number}`, class: `point${beaten ? " beaten" : ""}${far ? " far" : ""}`, "aria-label": text, "data-number": row.number, transform: `translate(${x(risk.mean)} ${y(use.mean)})` });
      link.append(make("circle", { class: "reach", r: 11 }), make("path", { d: far ? "M-5,-5L5,0L-5,5z" : row.path, style: `stroke:${colour};fill:${row.hollow ? "var(--sheet)" : colour}`, ...(far ? { transform: `rotate(${risk.mean > xs[1] ? 0 : -90})` } : {}) }));
      if (row.breaks) link.append(make("path", { class: "slash", d: "M-7,7L7,-7" }));
      if (row.number === held.best) link.prepend(make("circle", { class: "ring", r: 12 }));
      svg.append(link);
      drawn.push([link, row, risk, use]);
    });
    place.replaceChildren(svg);
    const tip = at("tip");
    const tell = (link, row, risk, use) => {
      tip.replaceChildren();
      const lines = [["", row.label], [axis.words, risk.text], [held.utility.words, use.text], ["smallest class", row.people], ["typically a", row.typical], ["published", row.published], ["breaks the policy:", row.breaks]];
      lines.filter(([, value]) => value).forEach(([key, value]) => {
        const line = document.createElement("div");
        if (key) { const name = document.createElement("span"); name.textContent = `${key} `; line.append(name); }
        line.append(value);
        tip.append(line);
      });
      tip.hidden = false;
      const [mark, whole] = [link.getBoundingClientRect(), place.getBoundingClientRect()];
      const left = Math.min(mark.right - whole.left + 8, whole.width - tip.offsetWidth - 4);
      tip.style.left = `${Math.max(left, 0) + place.offsetLeft}px`;
      tip.style.top = `${mark.bottom - whole.top + 8 + place.offsetTop}px`;
    };
    drawn.forEach(([link, ...about]) => {
      ["mouseenter", "focus"].forEach((event) => link.addEventListener(event, () => tell(link, ...about)));
      ["mouseleave", "blur"].forEach((event) => link.addEventListener(event, () => { tip.hidden = true; }));
      link.addEventListener("click", (event) => { event.preventDefault(); tip.hidden = true; visit(about[0].number); });
    });
    const best = drawn.find(([, row]) => row.number === held.best);
    if (best) placeWord(svg, best[0], drawn.map(([link]) => link.querySelector("path")), names);
    at("far").textContent = drawn.filter(([link]) => link.classList.contains("far")).map(([, row, risk, use]) => `${row.label} (${axis.words} ${risk.text}, ${held.utility.words} ${use.text})`).join("; ");
    at("far-line").hidden = !at("far").textContent;
    place.dataset.drawn = axis.name;
  };

  // The word beside the ring goes to the nearest place where it covers no mark and no name.
  const placeWord = (svg, ring, marks, names) => {
    const word = make("text", { class: "chosen" }, "recommended");
    svg.append(word);
    const whole = svg.getBoundingClientRect(), size = word.getBoundingClientRect(), here = ring.querySelector(".ring").getBoundingClientRect();
    const taken = [...marks, ...names].map((node) => node.getBoundingClientRect());
    const lines = [...svg.querySelectorAll(".step")].flatMap((path) => Array.from({ length: Math.ceil(path.getTotalLength() / 4) }, (_, place) => {
      const point = path.getPointAtLength(place * 4);
      return { left: whole.left + point.x, right: whole.left + point.x, top: whole.top + point.y, bottom: whole.top + point.y };
    }));
    const [middle, centre] = [(here.left + here.right) / 2, (here.top + here.bottom) / 2];
    let best = null;
    [14, 24, 38, 56, 80, 110].forEach((far) => [[1, -1], [1, 0], [1, 1], [0, -1], [0, 1], [-1, -1], [-1, 0], [-1, 1]].forEach(([right, down]) => {
      const left = middle + right * far - (right < 0 ? size.width : right ? 0 : size.width / 2);
      const top = centre + down * far - (down < 0 ? size.height : down ? 0 : size.height / 2);
      const spot = { left, top, right: left + size.width, bottom: top + size.height };
      const inside = spot.left >= whole.left + 58 && spot.right <= whole.right - 4 && spot.top >= whole.top && spot.bottom <= whole.bottom - 52;
      const price = (inside ? 0 : 1000) + 100 * taken.filter((one) => !apart(spot, one)).length + (lines.some((one) => !apart(spot, one)) ? 60 : 0) + far;
      if (!best || price < best.price) best = { price, spot, far };
    }));
    if (best.far > 24) {
      const [spot, x, y] = [best.spot, middle - whole.left, centre - whole.top];
      const [toX, toY] = [Math.min(Math.max(x, spot.left - whole.left), spot.right - whole.left), Math.min(Math.max(y, spot.top - whole.top + 3), spot.bottom - whole.top - 3)];
      const share = 12 / Math.hypot(toX - x, toY - y);
      svg.append(make("line", { class: "leader", x1: x + (toX - x) * share, y1: y + (toY - y) * share, x2: toX, y2: toY }));
    }
    word.setAttribute("x", best.spot.left - whole.left);
    word.setAttribute("y", best.spot.top - whole.top + size.height * 0.78);
  };

  const visit = (number) => {
    const panel = at(`release-${number}`);
    if (!panel) return;
    if (panel.tagName === "DETAILS") panel.open = true;
    panel.scrollIntoView({ block: "start" });
    (panel.querySelector("summary") ?? panel).focus({ preventScroll: true });
  };

  const chart = at("frontier-chart");
  if (chart) {
    let chosen = held.axes[0];
    document.querySelectorAll("input[name=axis]").forEach((one) => one.addEventListener("change", () => {
      chosen = held.axes.find((axis) => axis.name === one.value);
      document.querySelectorAll("[data-axis]").forEach((node) => { node.hidden = node.dataset.axis !== chosen.name; });
      draw(chart, chosen);
    }));
    let width = 0;
    new ResizeObserver(() => { if (chart.clientWidth !== width) { width = chart.clientWidth; draw(chart, chosen); } }).observe(chart);
  }
  document.querySelectorAll("a[href^='#release-']").forEach((link) => {
    if (link.closest("#frontier-chart")) return;
    link.addEventListener("click", (event) => { event.preventDefault(); visit(link.hash.replace("#release-", "")); });
  });

  // Sort a table by a column: numbers by `data-value`, else text.
  document.querySelectorAll("table.sortable th button").forEach((button) => button.addEventListener("click", () => {
    const head = button.closest("th"), table = head.closest("table"), place = [...head.parentNode.children].indexOf(head);
    const down = head.getAttribute("aria-sort") === "ascending";
    table.querySelectorAll("th").forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.children[place].dataset.value ?? row.children[place].textContent.trim();
    const number = (text) => (text === "" ? Infinity : Number(text));
    const rows = [...table.tBodies[0].rows].sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      const order = Number.isNaN(number(a)) || Number.isNaN(number(b)) ? a.localeCompare(b) : number(a) - number(b);
      return (down ? -1 : 1) * (order || 0);
    });
    table.tBodies[0].append(...rows);
  }));

  document.querySelectorAll("button.copy").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const source = button.parentNode.querySelector("pre");
      const text = source.textContent;
      let done = true;
      try { await navigator.clipboard.writeText(text); } catch {
        const range = document.createRange();
        range.selectNodeContents(source);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        done = document.execCommand("copy");
      }
      button.textContent = done ? "Copied" : "Press Ctrl C";
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    });
  });

  // COUNT: what a reader of the release expects; the estimator's own sum, over the ranges of the schema.
  const form = at("ask");
  if (form && held.asked) {
    const { asked, truth } = held;
    const estimate = (where) => {
      const inGroup = new Float64Array(asked.total.length);
      const quasi = asked.quasi.map((one) => where[one.name]);
      asked.boxes.forEach((labels, box) => {
        let share = asked.weight[box];
        quasi.forEach((bin, column) => {
          if (bin === undefined || !share) return;
          share *= asked.covers[column][labels[column]].find(([one]) => one === bin)?.[1] ?? 0;
        });
        inGroup[asked.group[box]] += share;
      });
      const wanted = asked.carried.map((one) => where[one.name]);
      if (wanted.every((bin) => bin === undefined)) return inGroup.reduce((sum, one) => sum + one, 0);
      const sizes = asked.carried.map((one) => one.bins.length);
      return asked.held.reduce((sum, [group, code, count]) => {
        let rest = code;
        for (let column = sizes.length - 1; column >= 0; column -= 1) {
          if (wanted[column] !== undefined && rest % sizes[column] !== wanted[column]) return sum;
          rest = Math.floor(rest / sizes[column]);
        }
        return asked.total[group] ? sum + inGroup[group] * count / asked.total[group] : sum;
      }, 0);
    };
    const exact = (where) => truth.cells.reduce((sum, cell, line) =>
      (truth.names.every((name, column) => where[name] === undefined || cell[column] === where[name]) ? sum + truth.counts[line] : sum), 0);
    const tell = () => {
      const where = {};
      form.querySelectorAll("select").forEach((one) => { if (one.value !== "") where[one.name] = Number(one.value); });
      const [estimated, true_] = [estimate(where), truth ? exact(where) : null];
      const say = (value) => (value < 9.95 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value).toLocaleString("en"));
      at("estimated").textContent = say(estimated);
      if (truth) {
        at("true").textContent = true_.toLocaleString("en");
        at("off").textContent = Math.abs(estimated - true_) < 0.05 ? "exact" : true_ ? `off by ${say(Math.abs(estimated - true_))}, ${(100 * Math.abs(estimated - true_) / true_).toFixed(1)} %` : `off by ${say(estimated)}`;
      }
    };
    form.addEventListener("change", tell);
    form.addEventListener("reset", () => setTimeout(tell));
    form.addEventListener("submit", (event) => event.preventDefault());
    tell();
    form.dataset.ready = "yes";
  }
})();
