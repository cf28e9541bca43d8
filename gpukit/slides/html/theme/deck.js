// Views of a deck: article, slides, overview, and the speaker's window, kept in step with the slides.
"use strict";
(() => {
  const root = document.documentElement;
  const slides = [...document.querySelectorAll(".slide")];
  const query = new URLSearchParams(location.search);
  const speaking = query.has("presenter");
  const wanted = speaking ? "presenter" : ["article", "slides"].find((name) => query.has(name)) || kept() ||
    (innerWidth < 640 ? "article" : "slides");
  const here = location.href.split(/[?#]/)[0];
  const STEPS = [",", ".", "[", "]"];
  let now = 0, typed = "", awake = 0, begun = 0, last = "";

  const make = (html) => {
    const box = document.createElement("div");
    box.innerHTML = html;
    return document.body.appendChild(box.firstElementChild);
  };

  // --- what a reader without a script does not need ---
  const ACTIONS = [
    ["Back", "←", "The slide before", () => go(now - 1)],
    ["On", "→", "The next slide", () => go(now + 1)],
    ["o", "Overview", "Overview of all slides", () => view(at() === "overview" ? "slides" : "overview")],
    ["a", "Article", "Read: all slides with notes", () => view(at() === "article" ? "slides" : "article")],
    ["p", "Presenter", "The speaker's window: notes, clock, next slide", present],
    ["t", "Light/dark", "Light or dark", theme],
    ["f", "Full screen", "Full screen", full],
    ["?", "Keys", "These keys", () => help.showModal()],
  ];
  const tools = make('<nav class="tools" aria-label="Slides"></nav>');
  for (const [key, text, title, act] of ACTIONS) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.title = key.length === 1 ? `${title} (${key})` : title;
    button.setAttribute("aria-label", title);
    button.onclick = act;
    button.dataset.does = key;
    tools.append(button);
  }
  document.querySelectorAll(".bar a").forEach((link) => tools.append(link.cloneNode(true)));
  document.querySelector(".bar").after(tools);
  const progress = make('<div class="progress" aria-hidden="true"></div>');
  progress.style.setProperty("--slides", slides.length);
  const live = make('<p class="sr live" role="status" aria-live="polite"></p>');
  const help = make(`<dialog aria-labelledby="keys"><h2 id="keys">Keys</h2><dl>
    <dt><kbd>→</kbd> <kbd>space</kbd> <kbd>page down</kbd></dt><dd>on</dd>
    <dt><kbd>←</kbd> <kbd>page up</kbd></dt><dd>back</dd>
    <dt><kbd>home</kbd> <kbd>end</kbd></dt><dd>first, last slide</dd>
    <dt><kbd>1</kbd> <kbd>2</kbd> <kbd>enter</kbd></dt><dd>slide 12</dd>
    <dt><kbd>enter</kbd></dt><dd>show or hide the answer</dd>
    <dt><kbd>.</kbd> <kbd>,</kbd></dt><dd>a stepper's next step, and back</dd>
    ${ACTIONS.filter(([key]) => key.length === 1).map(([key, , title]) =>
      `<dt><kbd>${key}</kbd></dt><dd>${title.toLowerCase()}</dd>`).join("")}
    <dt><kbd>escape</kbd></dt><dd>back to the slide</dd></dl>
    <form method="dialog"><button>Close</button></form></dialog>`);

  // --- views ---
  function at() { return root.dataset.view; }

  function view(name) {
    if (at() === "article") now = nearest();
    keep(name);
    set(name);
    if (name !== "slides") slides[now].scrollIntoView({ block: name === "article" ? "start" : "center" });
  }

  function set(name) {
    root.dataset.view = name;
    tools.querySelector("[data-does=a]").textContent = name === "article" ? "Slides" : "Article";
    fit();
    show();
    // What scrolls sideways on a narrow screen can be reached by key.
    document.querySelectorAll("pre, .table, .figure, .math.block").forEach((box) => {
      if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
  }

  // Who reads goes on reading in the next deck, as long as the tab is open.
  function keep(name) {
    const one = name === "article" ? name : "slides";
    try { sessionStorage.setItem("gpukit-view", one); } catch (error) { /* not allowed */ }
  }
  function kept() {
    try { return sessionStorage.getItem("gpukit-view"); } catch (error) { return null; }
  }

  function nearest() {
    const tops = slides.map((slide) => Math.abs(slide.getBoundingClientRect().top));
    return scrollY < 40 ? now : tops.indexOf(Math.min(...tops));
  }

  function fit() {
    const scale = Math.min(innerWidth / 1280, innerHeight / 720);
    const style = root.style;
    style.setProperty("--scale", scale);
    style.setProperty("--left", `${(innerWidth - 1280 * scale) / 2}px`);
    style.setProperty("--top", `${(innerHeight - 720 * scale) / 2}px`);
    const large = Math.min((innerWidth - 48) * 0.6 / 1280, (innerHeight * 0.55) / 720);
    style.setProperty("--scale-now", large);
    style.setProperty("--scale-next", Math.min((innerWidth - 48) / 1280 - large, large));
  }

  function show() {
    slides.forEach((slide, i) => {
      slide.classList.toggle("current", i === now);
      slide.classList.toggle("next", i === now + 1);
    });
    progress.style.setProperty("--here", now + 1);
    history.replaceState(null, "", at() === "article" ? "?article" : `${speaking ? "" : here}#${now + 1}`);
    if (speaking) speak();
  }

  function go(to, tell = true) {
    to = Math.max(0, Math.min(slides.length - 1, to));
    if (at() === "article") slides[to].scrollIntoView();
    if (to === now) return;
    now = to;
    if (!begun) begun = Date.now();
    show();
    if (at() === "overview") slides[now].scrollIntoView({ block: "nearest" });
    const heading = slides[now].querySelector("h1, h2").textContent;
    live.textContent = `Slide ${now + 1} of ${slides.length}: ${heading}`;
    if (tell) send();
  }

  function answer(open, tell = true) {
    const box = slides[now].querySelector(".answer");
    if (!box) return;
    box.open = open === undefined ? !box.open : open;
    if (tell) send();
  }

  // A stepper has keys of its own; here they reach that of the slide, in both windows.
  function step(key, tell = true) {
    const stepper = slides[now].querySelector("[data-stepper]");
    if (!stepper) return;
    stepper.dispatchEvent(new KeyboardEvent("keydown", { key }));
    if (tell) post({ deck: here, step: key });
  }

  function theme() {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
    try { localStorage.setItem("gpukit-theme", root.dataset.theme); } catch (error) { /* not allowed */ }
  }

  function full() {
    if (document.fullscreenElement) document.exitFullscreen();
    else root.requestFullscreen?.();
  }

  // --- two windows in step: by a channel, and by the window that opened the other where files have no channel ---
  let other = window.opener;
  const channel = "BroadcastChannel" in window ? new BroadcastChannel(`gpukit ${here}`) : null;
  if (channel) channel.onmessage = (event) => heard(event.data);
  addEventListener("message", (event) => {
    if (event.source === other && event.data && event.data.deck === here) heard(event.data);
  });

  function send() {
    post({ deck: here, slide: now, open: !!slides[now].querySelector(".answer[open]") });
  }

  function post(message) {
    message.id = `${Date.now()}${Math.random()}`;
    channel?.postMessage(message);
    other?.postMessage(message, "*");
  }

  function heard(message) {
    if (message.id === last) return; // it came both ways
    last = message.id;
    if (message.step) return step(message.step, false);
    if (message.hello) return speaking ? undefined : send();
    go(message.slide, false);
    answer(message.open, false);
  }

  function present() {
    if (!speaking) other = window.open(`${here}?presenter#${now + 1}`, "gpukit-presenter", "width=1280,height=860");
  }

  // --- the speaker's window ---
  let clock, said;
  if (speaking) {
    document.title = `Presenter: ${document.title}`;
    const box = make(`<section class="speaker" aria-label="Notes"><div class="clock">
      <p><strong class="passed">0:00</strong> of <span class="all"></span> min</p><p class="plan"></p>
      <p class="time"></p><button type="button">Start the clock again</button></div>
      <div class="said" tabindex="0"></div></section>`);
    box.prepend(Object.assign(document.createElement("h1"), { className: "sr", textContent: document.title }));
    document.getElementById("main").append(box);
    clock = box.querySelector(".clock");
    said = box.querySelector(".said");
    clock.querySelector("button").onclick = () => { begun = Date.now(); tick(); };
    clock.querySelector(".all").textContent = minutes(slides.length);
    setInterval(tick, 500);
    post({ deck: here, hello: true });
  }

  function minutes(count) {
    return slides.slice(0, count).reduce((sum, slide) => sum + Number(slide.dataset.minutes), 0);
  }

  function tick() {
    const seconds = begun ? Math.floor((Date.now() - begun) / 1000) : 0;
    clock.querySelector(".passed").textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    clock.querySelector(".time").textContent = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  }

  function speak() {
    clock.querySelector(".plan").textContent =
      `slide ${now + 1} of ${slides.length}: ${slides[now].dataset.minutes} min, begins at ${minutes(now)}`;
    said.innerHTML = slides[now].querySelector(".notes")?.innerHTML || "";
    const text = slides[now].querySelector(".answer > div");
    if (text) said.insertAdjacentHTML("beforeend", `<p><strong>Answer.</strong></p>${text.innerHTML}`);
    said.scrollTop = 0;
    tick();
  }

  // --- keys, pointer, touch ---
  const KEYS = {
    ArrowRight: () => go(now + 1), ArrowDown: () => go(now + 1), PageDown: () => go(now + 1), " ": () => go(now + 1),
    ArrowLeft: () => go(now - 1), ArrowUp: () => go(now - 1), PageUp: () => go(now - 1),
    Home: () => go(0), End: () => go(slides.length - 1),
    Enter: () => {
      if (typed) go(Number(typed) - 1);
      else if (at() === "overview") view("slides");
      else answer();
      typed = "";
    },
    Escape: () => {
      document.activeElement?.blur();
      if (at() === "overview") view("slides");
    },
  };
  for (const [key, , , act] of ACTIONS) if (key.length === 1) KEYS[key] = act;

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || help.open) return;
    if (event.key === "Tab") return wake();
    const busy = event.target.closest?.("a, button, input, summary, select, textarea, [data-keys]");
    const own = busy && (/^(Enter| )$/.test(event.key) || busy.matches("input, select, textarea, [data-keys]"));
    const scrolls = at() === "article" && /^(Arrow.*|Page.*|Home|End| )$/.test(event.key);
    if (own || scrolls) return;
    if (event.shiftKey && event.key === " ") go(now - 1);
    else if (STEPS.includes(event.key)) step(event.key);
    else if (/^\d$/.test(event.key)) typed += event.key;
    else if (KEYS[event.key]) KEYS[event.key]();
    else return;
    if (!/^\d$/.test(event.key)) typed = "";
    event.preventDefault();
  });

  function wake() {
    root.classList.add("awake");
    clearTimeout(awake);
    awake = setTimeout(() => root.classList.remove("awake"), 2500);
  }
  addEventListener("pointermove", (event) => { if (event.pointerType === "mouse") wake(); });

  // An option chosen by pointer lets the keys go: the arrows are the slides' again.
  addEventListener("pointerup", (event) => {
    if (event.target.closest(".poll label, .answer summary")) setTimeout(() => document.activeElement.blur(), 0);
  });
  document.querySelectorAll(".answer").forEach((box) => box.addEventListener("toggle", () => {
    if (slides[now].contains(box)) send();
  }));

  let touched = null;
  addEventListener("touchstart", (event) => {
    const one = event.touches.length === 1 && at() === "slides" && !event.target.closest("a, button, label, summary, dialog, .tools");
    touched = one ? [event.touches[0].clientX, event.touches[0].clientY] : null;
  }, { passive: true });
  addEventListener("touchend", (event) => {
    if (!touched) return;
    const [x, y] = [event.changedTouches[0].clientX - touched[0], event.changedTouches[0].clientY - touched[1]];
    if (Math.abs(x) > 40 && Math.abs(x) > 1.5 * Math.abs(y)) go(now + (x < 0 ? 1 : -1));
    else if (Math.abs(x) < 10 && Math.abs(y) < 10) {
      if (touched[0] < innerWidth * 0.25) go(now - 1);
      else if (touched[0] > innerWidth * 0.75) go(now + 1);
      else wake();
    }
    touched = null;
  }, { passive: true });

  addEventListener("click", (event) => {
    if (at() !== "overview") return;
    const slide = event.target.closest(".slide");
    if (slide) { go(slides.indexOf(slide)); view("slides"); }
  });

  addEventListener("resize", fit);
  addEventListener("hashchange", () => { const to = parseInt(location.hash.slice(1), 10); if (to) go(to - 1); });
  now = Math.max(0, Math.min(slides.length, parseInt(location.hash.slice(1), 10) || 1) - 1);
  if (!speaking && query.size) keep(wanted);
  set(wanted);
  if (wanted === "article" && now) slides[now].scrollIntoView();
})();
