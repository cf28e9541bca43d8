// Looks at every slide of the page, one after the other, as they stand when they are shown; gives plain data:
// [{slide, faults: ["sentence", ...]}]. The page must show slides at their full size of 1280 by 720 pixels.
(limits) => {
  const root = document.documentElement;
  const slides = [...document.querySelectorAll("section.slide")];
  const round = (value) => Math.round(value * 10) / 10;

  const shown = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const named = (element) => {
    const text = (element.innerText || element.getAttribute?.("aria-label") || "").trim().replace(/\s+/g, " ");
    const kind = element.classList?.[0] ? `.${element.classList[0]}` : "";
    return `<${element.tagName.toLowerCase()}${kind}>${text ? ` "${text.slice(0, 40)}"` : ""}`;
  };
  const inside = (element) => {
    if (element.matches("details:not([open])")) return element.querySelector("summary").getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(element);
    const box = range.getBoundingClientRect();
    return box.width && box.height ? box : element.getBoundingClientRect();
  };
  const whole = (element) => {
    const [a, b] = [element.getBoundingClientRect(), inside(element)];
    return { left: Math.min(a.left, b.left), right: Math.max(a.right, b.right),
      top: Math.min(a.top, b.top), bottom: Math.max(a.bottom, b.bottom) };
  };

  // What stands on a slide side by side, none in another: these must not touch.
  const blocks = (stage) => {
    const found = [...stage.querySelectorAll("h1, h2, .tag, .facts, footer > p")];
    for (const body of stage.querySelectorAll(".body")) {
      for (const child of body.children) found.push(...(child.matches(".left, .right") ? child.children : [child]));
    }
    return found.filter((element) => shown(element) && !element.matches("script, style, template"));
  };

  const overflow = (stage) => {
    const faults = [];
    const edge = stage.getBoundingClientRect();
    const body = stage.querySelector(".body");
    for (const element of blocks(stage)) {
      const box = whole(element);
      const room = body && body.contains(element) ? body.getBoundingClientRect() : edge;
      const over = {
        bottom: box.bottom - room.bottom, right: box.right - room.right, left: room.left - box.left, top: room.top - box.top,
      };
      for (const [side, pixels] of Object.entries(over)) {
        if (pixels > limits.tolerance) faults.push(`${named(element)} runs ${round(pixels)} px over the ${side}`);
      }
    }
    for (const element of stage.querySelectorAll("*")) {
      if (!shown(element) || element.closest("svg, math, .answer > div, .sr")) continue;
      const style = getComputedStyle(element);
      const [x, y] = [element.scrollWidth - element.clientWidth, element.scrollHeight - element.clientHeight];
      if (style.overflowX !== "visible" && x > limits.tolerance && element.clientWidth)
        faults.push(`${named(element)} is cut off: ${x} px of its width do not show`);
      if (style.overflowY !== "visible" && y > limits.tolerance && element.clientHeight)
        faults.push(`${named(element)} is cut off: ${y} px of its height do not show`);
    }
    return faults;
  };

  const overlap = (stage) => {
    const faults = [];
    const found = blocks(stage).map((element) => [element, inside(element)]);
    found.forEach(([one, a], i) => {
      for (const [other, b] of found.slice(i + 1)) {
        if (one.contains(other) || other.contains(one)) continue;
        const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (width > limits.tolerance && height > limits.tolerance)
          faults.push(`${named(one)} and ${named(other)} overlap by ${round(width)} x ${round(height)} px`);
      }
    });
    return faults;
  };

  // Index and exponent of a formula are smaller than it is; the formula is not.
  const size = (element) => {
    const of = element.closest("math, sub, sup") || element;
    const font = parseFloat(getComputedStyle(of.matches("sub, sup") ? of.parentElement : of).fontSize);
    const svg = element.closest("svg");
    const matrix = svg && element.getScreenCTM && element.getScreenCTM();
    return matrix ? font * Math.sqrt(Math.abs(matrix.a * matrix.d - matrix.b * matrix.c)) : font;
  };
  const small = (stage) => {
    const faults = new Map();
    const walker = document.createTreeWalker(stage, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.data.trim() || element.closest("script, style, title, desc, defs, .sr")) continue;
      if (!shown(element)) continue;
      const pixels = size(element);
      if (pixels < limits.text - 0.1 && !faults.has(element))
        faults.set(element, `text of ${round(pixels)} px, and ${limits.text} are the least: ${named(element)}`);
    }
    // Text drawn as paths was made for so many pixels a point; drawn smaller, it is smaller.
    for (const svg of stage.querySelectorAll("svg")) {
      const box = svg.viewBox.baseVal;
      if (!shown(svg) || !box || !box.width || svg.querySelector("text") || !/pt$/.test(svg.dataset.made || "pt")) continue;
      const scale = svg.getBoundingClientRect().width / box.width;
      if (scale < limits.scale) {
        const share = Math.round((100 * scale) / limits.scale);
        faults.set(svg, `${named(svg)} is drawn at ${share} % of the size that it was made for, and its text with it`);
      }
    }
    return [...faults.values()];
  };

  const heading = (stage) => {
    const faults = [];
    for (const element of stage.querySelectorAll("h2")) {
      const lines = inside(element).height / parseFloat(getComputedStyle(element).lineHeight);
      if (lines > 1.5) faults.push(`its heading takes ${Math.round(lines)} lines; it must fit into one`);
    }
    return faults;
  };

  const answer = (slide, stage) => {
    const box = slide.querySelector(".answer");
    if (!box) return [];
    const open = box.open;
    box.open = true;
    const text = box.querySelector(":scope > div");
    const [place, edge] = [text.getBoundingClientRect(), stage.getBoundingClientRect()];
    const faults = [];
    if (place.top < edge.top - limits.tolerance || place.bottom > edge.bottom + limits.tolerance)
      faults.push("its answer, opened, runs over the slide");
    if (text.scrollHeight - text.clientHeight > limits.tolerance) faults.push("its answer, opened, is cut off: shorten it");
    for (const asked of stage.querySelectorAll(".body :is(p, li, label, pre, td)")) {
      if (box.contains(asked) || !shown(asked)) continue;
      const at = asked.getBoundingClientRect();
      const [width, height] = [Math.min(at.right, place.right) - Math.max(at.left, place.left),
        Math.min(at.bottom, place.bottom) - Math.max(at.top, place.top)];
      if (width > limits.tolerance && height > limits.tolerance)
        faults.push(`its answer, opened, covers ${round(height)} px of ${named(asked)}: shorten either`);
    }
    box.open = open;
    return faults;
  };

  // What can be clicked on a slide must not lie below the tool bar, which shows while the pointer moves. How wide that
  // is depends on the names of other decks.
  const bar = document.querySelector(".tools")?.getBoundingClientRect();
  const covered = (stage) => {
    if (!bar) return [];
    return [...stage.querySelectorAll("a, button, summary, label")].filter(shown).flatMap((element) => {
      const box = element.getBoundingClientRect();
      const hidden = Math.min(box.bottom, bar.bottom) - Math.max(box.top, bar.top);
      return hidden > limits.tolerance ? [`the tool bar covers ${round(hidden)} px of ${named(element)}`] : [];
    });
  };

  const before = slides.map((slide) => slide.classList.contains("current"));
  const found = slides.map((slide, i) => {
    slides.forEach((other) => other.classList.toggle("current", other === slide));
    const stage = slide.querySelector(".stage");
    if (!stage || !shown(stage)) return { slide: i + 1, faults: ["it does not show"] };
    const [width, height] = [stage.getBoundingClientRect().width, stage.getBoundingClientRect().height];
    const wrong = Math.abs(width - 1280) + Math.abs(height - 720) > 1 ? [`it is ${round(width)} x ${round(height)} px large`] : [];
    return { slide: i + 1,
      faults: [...wrong, ...overflow(stage), ...overlap(stage), ...small(stage), ...heading(stage), ...covered(stage),
        ...answer(slide, stage)] };
  });
  slides.forEach((slide, i) => slide.classList.toggle("current", before[i]));
  return found;
}
