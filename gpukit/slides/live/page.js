// The page: editors, the worker that runs Python, and what a run gives, drawn.
"use strict";
(() => {
  const settings = JSON.parse(document.getElementById("settings").textContent);
  const state = document.getElementById("state");
  const progress = document.getElementById("progress");
  const cells = new Map();

  // --- small helpers -------------------------------------------------------------------------------------------------

  const SVG = "http://www.w3.org/2000/svg";
  function element(name, attributes = {}, ...children) {
    const made = attributes.svg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "svg" || value === null || value === false) continue;
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  }
  const drawn = (name, attributes, ...children) => element(name, { svg: true, ...attributes }, ...children);
  const plural = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

  // --- colours of Python ---------------------------------------------------------------------------------------------

  const TOKEN = new RegExp(
    [
      "(?<c>#[^\\n]*)",
      "(?<s>[rbfuRBFU]{0,2}(?:\"\"\"[\\s\\S]*?(?:\"\"\"|$)|'''[\\s\\S]*?(?:'''|$)|\"(?:\\\\.|[^\"\\\\\\n])*\"?|'(?:\\\\.|[^'\\\\\\n])*'?))",
      "(?<k>\\b(?:and|as|assert|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is" +
        "|lambda|not|or|pass|raise|return|try|while|with|yield|None|True|False)\\b|@[\\w.]+)",
      "(?<n>\\b(?:0[xX][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d*)?(?:[eE][+-]?\\d+)?)\\b)",
      "\\w+",
    ].join("|"),
    "g",
  );
  function coloured(text) {
    const parts = document.createDocumentFragment();
    let end = 0;
    for (const match of text.matchAll(TOKEN)) {
      const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
      if (!kind) continue;
      parts.append(text.slice(end, match.index), element("span", { class: kind }, match[0]));
      end = match.index + match[0].length;
    }
    parts.append(text.slice(end));
    return parts;
  }

  // --- a cell --------------------------------------------------------------------------------------------------------

  class Cell {
    constructor({ name, file, source }) {
      this.name = name;
      this.file = file;
      this.source = source;
      this.section = document.getElementById(name);
      const find = (what) => this.section.querySelector(what);
      [this.area, this.numbers, this.colours] = [find("textarea"), find(".numbers"), find(".colours")];
      [this.message, this.results] = [find(".state"), find(".results")];
      [this.runs, this.stops, this.resets] = [find(".run"), find(".stop"), find(".reset")];
      this.area.value = source;
      this.bad = new Set();
      this.area.addEventListener("input", () => { this.bad.clear(); this.drawCode(); });
      this.area.addEventListener("scroll", () => { this.colours.scrollLeft = this.area.scrollLeft; });
      this.area.addEventListener("keydown", (event) => this.key(event));
      this.area.addEventListener("blur", () => { this.leaving = false; });
      this.runs.addEventListener("click", () => engine.run(this));
      this.stops.addEventListener("click", () => engine.stop());
      this.resets.addEventListener("click", () => this.reset());
      this.drawCode();
    }

    drawCode() {
      const lines = this.area.value.split("\n");
      this.area.rows = lines.length;
      this.colours.replaceChildren(coloured(this.area.value), "\n");
      this.numbers.replaceChildren(
        ...lines.flatMap((_, i) => [element("span", { class: this.bad.has(i + 1) ? "bad" : "" }, String(i + 1)), "\n"]),
      );
    }

    key(event) {
      if (this.area.readOnly) return;
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        if (!this.runs.disabled) engine.run(this);
      } else if (event.key === "Escape") {
        this.leaving = true; // the next Tab goes on to the buttons, as everywhere else
      } else if (event.key === "Tab" && !event.shiftKey && !event.ctrlKey && !event.altKey && !this.leaving) {
        event.preventDefault();
        this.insert("    ");
      } else if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
        const line = this.area.value.slice(0, this.area.selectionStart).split("\n").pop();
        event.preventDefault();
        this.insert("\n" + line.match(/^ */)[0] + (/:\s*$/.test(line) ? "    " : ""));
      } else if (event.key !== "Tab") {
        this.leaving = false;
      }
    }

    insert(text) {
      // The old command is the one that keeps Ctrl+Z.
      if (!document.execCommand("insertText", false, text)) {
        this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, "end");
        this.area.dispatchEvent(new Event("input"));
      }
    }

    reset() {
      this.area.value = this.source;
      this.bad.clear();
      this.drawCode();
      this.say("The program is as it was at first.");
    }

    say(text) {
      this.message.textContent = text;
    }

    begin() {
      this.bad.clear();
      this.drawCode();
      this.output = "";
      this.results.replaceChildren();
      this.results.hidden = true;
    }

    print(text) {
      this.output += text;
      if (!this.printed || !this.printed.isConnected) {
        this.printed = element("pre", { class: "output", tabindex: "0", role: "group", "aria-label": "Output" });
        this.results.prepend(element("h3", {}, "Output"), this.printed);
        this.results.hidden = false;
      }
      this.printed.textContent = this.output;
    }

    show(result) {
      this.results.replaceChildren(...drawResult(result, this));
      this.results.hidden = false;
      const lines = result.launches.flatMap((launch) => errors(launch).map((one) => one.line));
      this.bad = new Set([result.error && result.error.line, ...lines].filter(Boolean));
      this.drawCode();
    }

    goTo(line) {
      const before = this.area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      this.area.focus();
      this.area.setSelectionRange(before, before + this.area.value.split("\n")[line - 1].length);
    }
  }

  // --- what a run gave -----------------------------------------------------------------------------------------------

  function drawResult(result, cell) {
    const parts = [];
    if (result.output) {
      const region = { class: "output", tabindex: "0", role: "group", "aria-label": "Output" };
      parts.push(element("h3", {}, "Output"), element("pre", region, result.output));
    }
    if (result.error) {
      parts.push(element("h3", {}, "Error"), element("p", { class: "problem" }, result.error.sentence));
    }
    if (result.launches.length) {
      parts.push(...drawCounters(result), ...drawLaunches(result, cell));
    } else if (!result.error) {
      parts.push(element("p", { class: "dim" }, "No kernel was launched."));
    }
    return parts;
  }

  const errors = (launch) => launch.remarks.filter((one) => one.severity === "error");

  function titles(launches) {
    const twice = new Set(launches.map((l) => l.kernel)).size < launches.length;
    return launches.map((launch, i) => (twice ? `${i + 1}: ${launch.kernel}` : launch.kernel));
  }

  function drawCounters({ counters, launches, more }) {
    const numeric = { class: "num", scope: "col" };
    const head = element(
      "tr", {}, element("th", { scope: "col" }, "counter"),
      ...titles(launches).map((title) => element("th", numeric, title)),
      element("th", { scope: "col", class: "about" }, "what it counts"),
    );
    const rows = counters.map(({ name, help, values }) => {
      const moved = new Set(values).size > 1 ? "num moved" : "num";
      return element(
        "tr", {}, element("th", { scope: "row" }, name), ...values.map((value) => element("td", { class: moved }, value)),
        element("td", { class: "about" }, help),
      );
    });
    const table = element("table", { class: "counters" }, element("thead", {}, head), element("tbody", {}, ...rows));
    const parts = [element("h3", {}, "Counters"), scrolling(table, "Counters")];
    if (more) parts.push(element("p", { class: "dim" }, `${plural(more, "launch").replace("launchs", "launches")} before these are not shown.`));
    return parts;
  }

  const scrolling = (inside, label) =>
    element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, inside);

  function drawLaunches({ launches }, cell) {
    const names = titles(launches);
    const place = element("div");
    const tabs = names.map((name, i) => {
      const wrong = errors(launches[i]).length;
      const title = wrong ? `${name}: ${plural(wrong, "error")}` : name;
      return element("button", { type: "button", onclick: () => choose(i) }, title);
    });
    function choose(chosen) {
      tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", String(i === chosen)));
      place.replaceChildren(...drawLaunch(launches[chosen], cell));
    }
    // The last launch shows, or else the first one that went wrong.
    const wrong = launches.findIndex((launch) => errors(launch).length);
    choose(wrong < 0 ? launches.length - 1 : wrong);
    const group = { class: "tabs", role: "group", "aria-label": "Launch" };
    return launches.length > 1 ? [element("div", group, ...tabs), place] : [place];
  }

  function drawLaunch(launch, cell) {
    const about = [launch.shape, launch.arguments].filter(Boolean).join("; ");
    const parts = [
      element("h3", {}, `What each line of ${launch.kernel} costs`), element("p", { class: "dim" }, about),
      drawSource(launch),
    ];
    const remarks = [element("h3", {}, `Hazards and findings in ${launch.kernel}`), drawRemarks(launch, cell)];
    parts.unshift(...remarks);
    if (launch.trace.warps.length) parts.push(element("h3", {}, "Lanes, step by step"), drawLanes(launch, cell));
    return parts;
  }

  const badge = (mark) =>
    element("span", { class: `badge ${{ E: "error", W: "warning", N: "finding" }[mark[0]]}` }, mark);

  function drawSource({ kernel, headings, lines }) {
    const marked = lines.some((line) => line.marks.length);
    const head = element(
      "tr", {}, ...(marked ? [element("th", { scope: "col" }, "marks")] : []),
      element("th", { scope: "col", class: "num" }, "line"), element("th", { scope: "col" }, "source"),
      ...headings.map(({ text, help }) => element("th", { scope: "col", class: "num", title: help }, text)),
    );
    const rows = [];
    for (const { number, text, marks, cells, gap } of lines) {
      if (gap !== null) rows.push(element("tr", {}, element("td", { colspan: String(2 + headings.length + marked) }, gap || "\u00a0")));
      rows.push(
        element(
          "tr", { class: marks.length ? "flagged" : "" },
          ...(marked ? [element("td", {}, ...marks.slice(0, 3).flatMap((mark) => [badge(mark), " "]))] : []),
          element("td", { class: "num dim" }, number ? String(number) : ""),
          element("td", { class: "line mono" }, coloured(text)),
          ...cells.map((value) => element("td", { class: "num" }, value)),
        ),
      );
    }
    return scrolling(
      element("table", { class: "source" }, element("thead", {}, head), element("tbody", {}, ...rows)),
      `Source of ${kernel} with the cost of each line`,
    );
  }

  function drawRemarks({ summary, remarks }, cell) {
    const said = element("p", { class: "dim" }, summary + ".");
    if (!remarks.length) return said;
    const rows = remarks.map(({ mark, line, text }) => {
      const there = line
        ? element("button", { type: "button", onclick: () => cell.goTo(line) }, `line ${line}`)
        : "";
      return element("tr", {}, element("td", {}, badge(mark)), element("td", {}, there), element("td", {}, text));
    });
    return element("div", {}, said, element("table", { class: "remarks" }, element("tbody", {}, ...rows)));
  }

  // --- the lane picture ----------------------------------------------------------------------------------------------

  const [SIZE, PITCH, ROW] = [13, 16, 24];
  const bits = (mask) => Array.from({ length: 32 }, (_, lane) => lane).filter((lane) => (mask >>> lane) & 1);
  const count = (mask) => bits(mask).length;
  const square = (x, y) => `M${x} ${y + 5}h${SIZE}v${SIZE}h-${SIZE}z`;
  const bar = (x, y) => `M${x + 2} ${y + 11.5}h${SIZE - 4}`;
  const dot = (x, y) => `M${x + 4} ${y + 9}h5v5h-5z`;
  // Shape and colour both say what a lane does.
  const STATES = [
    ["active", square, "at work"],
    ["idle", square, "waits for the others of its warp"],
    ["waiting", bar, "at a barrier"],
    ["done", dot, "has left the kernel"],
  ];

  // Lanes behind the end of a block are in no state: there are no such threads.
  function lanesOf([, active, waiting, done], exist) {
    return { active, waiting, done, idle: (exist & ~(active | waiting | done)) >>> 0 };
  }

  function drawLanes({ kernel, trace }, cell) {
    const body = element("div");
    const choice = element("select", { "aria-label": "Warp" });
    trace.warps.forEach(({ block, warp }, i) => choice.append(element("option", { value: String(i) }, `block ${block}, warp ${warp}`)));
    const slider = element("input", { type: "range", min: "1", value: "1", "aria-label": "Step" });
    const step = element("p", { class: "step", "aria-live": "polite" });
    const move = (by) => { slider.value = String(Number(slider.value) + by); tell(); };
    let steps, exist, marker, box;

    function tell() {
      const at = Number(slider.value) - 1;
      const [line, , , , requests] = steps[at];
      const { number, text } = trace.lines[line];
      const lanes = lanesOf(steps[at], exist);
      const waits = lanes.waiting ? `, ${count(lanes.waiting)} at a barrier` : "";
      const asks = requests.length ? ` ${requests.join("; ")}.` : "";
      step.replaceChildren(
        `Step ${at + 1} of ${steps.length}, ${number ? `line ${number}` : "a device function"}: `,
        element("code", {}, text), ` ${count(lanes.active)} of 32 lanes at work${waits}.${asks}`,
      );
      slider.setAttribute("aria-valuetext", `step ${at + 1} of ${steps.length}`);
      marker.setAttribute("y", String(ROW + at * ROW));
      const top = at * ROW;
      if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 3 * ROW) box.scrollTop = Math.max(0, top - 4 * ROW);
    }

    function chooseWarp() {
      const chosen = trace.warps[Number(choice.value)];
      const threads = Math.min(32, trace.threads - 32 * chosen.warp);
      steps = chosen.steps;
      exist = threads === 32 ? -1 : (1 << threads) - 1;
      slider.max = String(steps.length);
      slider.value = "1";
      const height = (steps.length + 1) * ROW + 4;
      const longest = Math.max(...steps.map(([line]) => trace.lines[line].text.length));
      const left = 64 + Math.round(9.7 * Math.min(longest, 30)); // where the lanes begin
      const work = steps.reduce((sum, one) => sum + count(one[1]), 0) / steps.length;
      const width = left + 32 * PITCH + 72;
      marker = drawn("rect", { class: "cursor", x: "0", width: String(width), height: String(ROW) });
      const heads = [0, 8, 16, 24, 31].map((lane) =>
        drawn("text", { class: "head", x: String(left + lane * PITCH + 6), y: "17", "text-anchor": "middle" }, String(lane)));
      const rows = steps.flatMap((one, i) => {
        const y = ROW + i * ROW;
        const { number, text } = trace.lines[one[0]];
        const lanes = lanesOf(one, exist);
        const short = text.length > 30 ? text.slice(0, 29) + "\u2026" : text;
        return [
          drawn("text", { class: "head", x: "34", y: String(y + 17), "text-anchor": "end" }, number ? String(number) : ""),
          drawn("text", { x: "46", y: String(y + 17) }, short),
          ...STATES.map(([name, shape]) => [name, bits(lanes[name]).map((lane) => shape(left + lane * PITCH, y)).join("")])
            .filter(([, path]) => path).map(([name, d]) => drawn("path", { class: name, d })),
          drawn("text", { x: String(left + 32 * PITCH + 8), y: String(y + 17) }, `${count(lanes.active)}/32`),
        ];
      });
      const label = `${choice.selectedOptions[0].textContent} of ${kernel}: ${plural(steps.length, "step")}, ` +
        `${work.toFixed(1)} of 32 lanes at work on average`;
      const picture = drawn(
        "svg", { width: String(width), height: String(height), viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
        marker, drawn("text", { class: "head", x: "46", y: "17" }, "lane"), ...heads, ...rows,
      );
      box = element("div", { class: "lanes", tabindex: "0", role: "group", "aria-label": "Lane picture" }, picture);
      body.replaceChildren(element("p", { class: "dim" }, label + "."), box);
      tell();
    }

    slider.addEventListener("input", tell);
    choice.addEventListener("change", chooseWarp);
    const previous = element("button", { type: "button", onclick: () => move(-1) }, "Previous step");
    const next = element("button", { type: "button", onclick: () => move(1) }, "Next step");
    const legend = element("p", { class: "legend dim" }, ...STATES.map(([name, shape, meaning]) =>
      element("span", {}, drawn("svg", { viewBox: "0 4 15 15", "aria-hidden": "true" }, drawn("path", { class: name, d: shape(1, 0) })), meaning)));
    chooseWarp();
    const cut = trace.truncated ? [element("p", { class: "dim" }, "The recording stops here; the run went on.")] : [];
    return element("div", {}, element("div", { class: "player" }, choice, previous, slider, next), step, legend, body, ...cut);
  }

  // --- Python --------------------------------------------------------------------------------------------------------

  function unpacked(name) {
    const node = document.getElementById(`asset-${name}`);
    const text = atob(node.textContent);
    node.remove();
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  }
  const pause = () => new Promise((resolve) => setTimeout(resolve));

  const engine = {
    stage: 0,
    ready: false,
    running: null, // the cell that runs
    waiting: null, // the cell that runs once Python is ready
    since: 0,

    async begin() {
      const before = performance.now();
      this.say("Python is unpacked.", 0);
      await pause();
      const wasm = unpacked("wasm");
      const compiled = WebAssembly.compileStreaming(
        new Response(wasm.body, { headers: { "Content-Type": "application/wasm" } }),
      );
      await pause();
      const script = await unpacked("engine").blob();
      this.address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
      const [stdlib, numpy, sources] = [unpacked("stdlib"), unpacked("numpy"), unpacked("sources")];
      this.given = {
        module: await compiled, stdlib: await stdlib.arrayBuffer(), numpy: await numpy.arrayBuffer(),
        sources: await sources.arrayBuffer(), ...settings.python,
      };
      this.start(before, "Python is ready");
    },

    start(before, then) {
      this.ready = false;
      this.stage = 1;
      const worker = (this.worker = new Worker(this.address));
      worker.onerror = (event) => { event.preventDefault(); this.fail(event.message); };
      worker.onmessage = ({ data }) => {
        if (worker !== this.worker) return; // one that was stopped
        if (data.stage) this.say(`${data.stage}.`, ++this.stage);
        if (data.printed && this.running) this.running.print(data.printed);
        if (data.done) this.finish(data.done);
        if (data.failed) this.fail(data.failed);
        if (data.ready) {
          this.ready = true;
          document.body.dataset.ready = ((performance.now() - before) / 1000).toFixed(2);
          this.say(`${then}.`, null);
          const cell = this.waiting;
          this.waiting = null;
          if (cell) this.run(cell);
        }
      };
      worker.postMessage({ start: this.given });
    },

    run(cell) {
      if (this.running) return;
      if (!this.ready) {
        if (this.waiting) this.waiting.say("");
        this.waiting = cell;
        cell.say("It runs as soon as Python is ready.");
        return;
      }
      this.running = cell;
      this.since = performance.now();
      cell.begin();
      cell.say("It runs.");
      this.buttons();
      this.say(`${cell.file} runs.`, null);
      this.worker.postMessage({ run: { source: cell.area.value, file: cell.file } });
    },

    finish(result) {
      const cell = this.running;
      if (!cell) return;
      this.running = null;
      cell.show(result);
      const found = result.launches.reduce((sum, launch) => sum + errors(launch).length, 0);
      const seconds = ((performance.now() - this.since) / 1000).toFixed(2);
      cell.say(`${result.error ? "It stopped at an error" : "Done"} after ${seconds} s${found ? `: ${plural(found, "error")}` : ""}.`);
      this.buttons();
      this.say("Python is ready.", null);
    },

    stop() {
      const cell = this.running;
      if (!cell) return;
      this.worker.terminate();
      this.running = null;
      cell.say(`Stopped after ${((performance.now() - this.since) / 1000).toFixed(1)} s. Python was stopped and started again.`);
      this.buttons();
      this.start(performance.now(), "Python was stopped and started again: it is ready");
    },

    fail(why) {
      if (this.running) {
        // Memory that ran out, for example: this Python is of no more use.
        this.running.say(`Python broke down (${why}). It was started again.`);
        this.worker.terminate();
        this.running = null;
        this.buttons();
        this.start(performance.now(), "Python was started again: it is ready");
      } else {
        this.worker.terminate();
        standStill(`Python could not be started here (${why}).`);
      }
    },

    buttons() {
      // A button that is switched off while it has the focus would take the keyboard with it.
      const had = [...cells.values()].find((cell) => [cell.runs, cell.stops].includes(document.activeElement));
      for (const cell of cells.values()) {
        cell.runs.disabled = this.running !== null;
        cell.stops.disabled = cell !== this.running;
      }
      if (had) (this.running ? this.running.stops : had.runs).focus();
    },

    say(text, stage) {
      state.textContent = text;
      progress.hidden = stage === null;
      if (stage !== null) progress.value = stage;
    },
  };

  // --- without Python ------------------------------------------------------------------------------------------------

  function standStill(why) {
    const note = document.getElementById("static");
    if (why) note.textContent = `${why} Below each cell stands what it gave when this page was built.`;
    note.hidden = false;
    document.getElementById("keys").hidden = true;
    engine.say("Nothing runs here: these are results from when the page was built. ", null);
    state.append(element("a", { href: "#static" }, "Why?"));
    document.body.dataset.ready = "static";
    for (const cell of cells.values()) {
      for (const button of [cell.runs, cell.stops, cell.resets]) button.hidden = true;
      cell.area.readOnly = true;
      cell.show(settings.expected[cell.name]);
      cell.say("What this program gave when the page was built:");
    }
  }

  function missing() {
    if (new URLSearchParams(location.search).has("static")) return "The page was opened with ?static.";
    const needed = { WebAssembly: self.WebAssembly, Worker: self.Worker, DecompressionStream: self.DecompressionStream };
    const absent = Object.keys(needed).filter((name) => !needed[name]);
    return absent.length ? `This browser cannot run Python here: it has no ${absent.join(", no ")}.` : "";
  }

  function followContents() {
    const links = new Map([...document.querySelectorAll(".contents a")].map((a) => [a.hash.slice(1), a]));
    const observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        links.forEach((a) => a.removeAttribute("aria-current"));
        links.get(target.id).setAttribute("aria-current", "true");
      }
    }, { rootMargin: "-20% 0px -75% 0px" });
    document.querySelectorAll(".cell").forEach((section) => observer.observe(section));
  }

  for (const one of settings.cells) cells.set(one.name, new Cell(one));
  followContents();
  const why = settings.python && missing();
  if (why || !settings.python) standStill(why);
  else engine.begin().catch((error) => standStill(`Python could not be started here (${error.message}).`));
})();
