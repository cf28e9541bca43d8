// Steppers: plays a recorded trace of the machine. It draws what gpukit/slides/stepper.py draws for print, step by step.
"use strict";
(() => {
  const WIDTH = 1184, ROW = 30, CELL = 30, LANES_LEFT = 104, STRIP_LEFT = 576, STRIP_CELL = 19, SECTOR = 32;
  const LETTER = 0.602 * 24, SECONDS = 1.2;
  const INK = "var(--fig-ink, var(--ink, #222222))", PAPER = "var(--fig-paper, var(--paper, #FFFFFF))";
  const PALE = "var(--fig-pale, #E6E6E6)", GREY = "var(--fig-grey, #767676)";
  const BLUE = "var(--active, #0072B2)", AMBER = "var(--idle, #E69F00)", VERMILION = "var(--waste, #D55E00)";
  const SKY = "#56B4E9", ON_COLOUR = "#111111";
  const MONO = "DejaVu Sans Mono, Liberation Mono, Menlo, Consolas, monospace";
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let made = 0;

  const node = (name, attributes = {}, text = "") => {
    const one = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    one.textContent = text;
    return one;
  };
  const rect = (x, y, width, height, fill, more = {}) => node("rect", { x, y, width, height, fill, ...more });
  const words = (x, y, text, more = {}) => node("text", { x, y, ...more }, text);
  const shortened = (text, length) => text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`;
  const triples = (runs) => runs.reduce((all, _, i) => i % 3 ? all : [...all, runs.slice(i, i + 3)], []);

  // A letter for each lane: a active, i idle in a busy warp, w waits at a barrier, d done, - not its turn.
  function states(data, number, warp) {
    const step = data.steps[number];
    const has = (mask, lane) => Math.floor(mask / 2 ** lane) % 2 === 1;
    return Array.from({ length: 32 }, (_, lane) =>
      !has(data.lanes[warp], lane) ? " " : has(step.a[warp], lane) ? "a" : has(step.d?.[warp] || 0, lane) ? "d"
        : has(step.w?.[warp] || 0, lane) ? "w" : step.a[warp] ? "i" : "-").join("");
  }

  const count = (letters, letter) => letters.split(letter).length - 1;
  const shownRequests = (step) => (step.r || []).filter((one) => one[0] === step.r[0][0]).slice(0, 3);

  function told(request, data) {
    const [place, kind, name, cost, runs, shared] = request;
    const unit = `${shared ? "wavefront" : "sector"}${cost === 1 ? "" : "s"}`;
    const text = `warp ${data.warps[place]} ${kind} ${shortened(name, 10)}: ${cost} ${unit}`;
    if (shared) return text;
    const used = triples(runs).reduce((sum, [, many, size]) => sum + many * size, 0);
    return `${text}, ${Math.floor(1000 * used / (SECTOR * cost) + 0.5) / 10}% used`;
  }

  function sentence(data, number) {
    const step = data.steps[number];
    const parts = [`Step ${number + 1} of ${data.steps.length}: ${data.source[step.l].trim()}`];
    data.warps.forEach((warp, place) => {
      const letters = states(data, number, place), active = count(letters, "a");
      const rest = [["w", "at the barrier"], ["d", "done"]].filter(([letter]) => count(letters, letter))
        .map(([letter, text]) => `${count(letters, letter)} ${text}`);
      parts.push([active ? `warp ${warp}: ${active} of 32 lanes active` : `warp ${warp}: waits`, ...rest].join(", "));
    });
    return [...parts, ...shownRequests(step).map((one) => told(one, data))].join(". ") + ".";
  }

  // --- the picture ---
  function draw(data, number, idle) {
    const parts = [];
    const [, height] = data.size;
    const line = data.steps[number].l;
    const below = 2 * ROW + data.warps.length * (CELL + 8) + ROW + data.requests * (ROW + 6) + 12;
    const rows = Math.min(data.source.length, Math.floor((height - below) / ROW));
    const first = Math.max(0, Math.min(line - Math.floor(rows / 2), data.source.length - rows));
    const letters = Math.floor((WIDTH - 50) / LETTER);
    data.source.slice(first, first + rows).forEach((text, place) => {
      const top = ROW * place, here = first + place === line;
      if (here) parts.push(rect(0, top, WIDTH, ROW, PALE), node("path", { d: `M8 ${top + 6}l14 9l-14 9z` }));
      const look = { "font-family": MONO, ...(here ? { "font-weight": "bold" } : {}) };
      const shown = shortened(text, letters), code = shown.trimStart();
      parts.push(words(34 + LETTER * (shown.length - code.length), top + 23, code, look));
    });
    let y = ROW * rows + 6;
    parts.push(words(0, y + 23, "lane"));
    for (const lane of [0, 8, 16, 24, 31])
      parts.push(words(LANES_LEFT + CELL * (lane + 0.5), y + 23, lane, { "text-anchor": "middle" }));
    y += ROW;
    data.warps.forEach((warp, place) => {
      const found = states(data, number, place), active = count(found, "a");
      parts.push(words(0, y + 24, `warp ${warp}`));
      [...found].forEach((letter, lane) => {
        if (letter === " ") return;
        const x = LANES_LEFT + CELL * lane, text = { w: "w", d: "·" }[letter] || "";
        // A lane of a busy warp that does nothing is lost, wherever it is.
        const quiet = active ? text ? AMBER : idle : letter === "d" ? PAPER : PALE;
        parts.push(rect(x + 1, y, CELL - 2, CELL + 2, letter === "a" ? BLUE : quiet, { stroke: GREY }));
        if (text) parts.push(words(x + CELL / 2, y + 24, text, { "text-anchor": "middle", fill: active ? ON_COLOUR : INK }));
      });
      const right = { "text-anchor": "end", "font-weight": "bold" };
      parts.push(words(WIDTH, y + 24, active ? `${active}/32` : "waits", right));
      y += CELL + 8;
    });
    let x = LANES_LEFT;
    for (const [fill, letter, text] of [[BLUE, "", "active"], [idle, "", "idle, warp busy"],
      [PALE, "w", "at the barrier"], [PALE, "", "not its turn"], [PAPER, "·", "done"]]) {
      parts.push(rect(x, y + 4, 24, 24, fill, { stroke: GREY }));
      if (letter) parts.push(words(x + 12, y + 24, letter, { "text-anchor": "middle" }));
      parts.push(words(x + 32, y + 24, text));
      x += 32 + 13 * text.length + 26;
    }
    y += ROW + 12;
    for (const request of shownRequests(data.steps[number])) {
      parts.push(words(0, y + 24, told(request, data)), ...(request[5] ? banks : sectors)(triples(request[4]), y));
      y += ROW + 6;
    }
    return parts;
  }

  function sectors(runs, y) {
    const room = WIDTH - STRIP_LEFT, cells = runs.reduce((sum, [, many]) => sum + many, 0);
    const cell = Math.min(STRIP_CELL, room / cells);
    const gaps = runs.filter(([first], i) => i && first !== runs[i - 1][0] + runs[i - 1][1]).length;
    const gap = gaps ? Math.min(8, (room - cell * cells) / gaps) : 0;
    const parts = [];
    let x = STRIP_LEFT, end = runs[0][0];
    for (const [first, many, used] of runs) {
      x += first === end ? 0 : gap;
      end = first + many;
      for (let i = 0; i < many; i += 1, x += cell) {
        const high = (ROW - 2) * used / SECTOR;
        parts.push(rect(x, y + ROW - high, cell - 2, high, used === SECTOR ? BLUE : AMBER));
        parts.push(rect(x, y + 2, cell - 2, ROW - 2, "none", { stroke: INK }));
      }
    }
    return parts;
  }

  function banks(runs, y) {
    const asked = Array(32).fill(0);
    for (const [first, many, words_] of runs) asked.fill(words_, first, first + many);
    return asked.flatMap((n, bank) => {
      const x = STRIP_LEFT + STRIP_CELL * bank, fill = !n ? PALE : n === 1 ? SKY : VERMILION;
      const cell = [rect(x, y + 2, STRIP_CELL - 2, ROW - 2, fill, { stroke: GREY })];
      if (n && n < 10) cell.push(words(x + STRIP_CELL / 2 - 1, y + 25, n,
        { "text-anchor": "middle", fill: ON_COLOUR }));
      return cell;
    });
  }

  // --- the buttons ---
  function play(box, data) {
    const id = `stepper-idle-${made += 1}`, last = data.steps.length - 1;
    const [width, height] = data.size;
    const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
      "font-family": "DejaVu Sans, Arial, sans-serif", "font-size": 24,
      "aria-label": box.querySelector("svg").getAttribute("aria-label") || data.title });
    svg.style.cssText = `width: ${width}px; fill: ${INK}`;
    const hatch = node("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)" });
    hatch.append(rect(0, 0, 8, 8, AMBER), rect(0, 0, 2.5, 8, INK));
    const defs = node("defs"), scene = node("g");
    defs.append(hatch);
    svg.append(defs, scene);
    const keys = document.createElement("span"), where = document.createElement("span");
    const said = document.createElement("span");
    keys.className = "keys";
    where.className = "where";
    said.className = "sr";
    said.setAttribute("aria-live", "polite");
    let now = data.at, timer = 0;

    const button = (text, title, act) => {
      const one = document.createElement("button");
      one.type = "button";
      one.textContent = text;
      one.title = title;
      one.onclick = act;
      keys.append(one);
      return one;
    };
    const to = (number, tell = true) => {
      now = Math.max(0, Math.min(last, number));
      scene.replaceChildren(...draw(data, now, `url(#${id})`));
      where.textContent = `Step ${now + 1} of ${last + 1}`;
      if (tell) said.textContent = sentence(data, now);
      if (now === last) stop();
    };
    const stop = () => {
      clearInterval(timer);
      timer = 0;
      player.textContent = "Play";
    };
    const go = (number) => { stop(); to(number); };
    button("First", "The first step", () => go(0));
    button("Back", "The step before ( , or [ )", () => go(now - 1));
    button("Next", "The next step ( . or ] )", () => go(now + 1));
    button("Last", "The last step", () => go(last));
    const player = button("Play", "A step each second", () => {
      if (timer) return stop();
      if (now === last) to(0, false);
      // Each step is said only where nothing moves by itself.
      timer = setInterval(() => to(now + 1, false), 1000 * SECONDS);
      player.textContent = "Pause";
    });
    // Who wants no motion has no button that makes some.
    const still = () => { player.hidden = calm.matches; if (calm.matches) stop(); };
    calm.addEventListener("change", still);
    still();
    keys.append(where);
    box.replaceChildren(svg, keys, said);
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", data.title);
    box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key === "." || event.key === "]") go(now + 1);
      else if (event.key === "," || event.key === "[") go(now - 1);
      else return;
      event.preventDefault();
    });
    to(now, false);
  }

  document.querySelectorAll("[data-stepper]").forEach((box) => {
    play(box, JSON.parse(box.nextElementSibling.textContent));
  });
})();
