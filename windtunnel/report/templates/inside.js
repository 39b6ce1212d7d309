"use strict";
(function () {
  const trials = JSON.parse(document.getElementById("inside-data").textContent);
  const pick = document.getElementById("pick-trial");
  const hostPick = document.getElementById("pick-host");
  const slider = document.getElementById("pick-time");
  const box = document.getElementById("inside-plot");
  const readout = document.getElementById("inside-readout");
  if (!pick || !trials.length) return;
  document.getElementById("inside-live").hidden = false;

  const PANELS = [
    { head: "CPU, fraction of all cores", stack: true, top: 1, format: percent, series: [
      ["cpu_user", "user", "--user"], ["cpu_system", "system", "--system"],
      ["cpu_iowait", "waiting for disk", "--iowait"], ["cpu_steal", "stolen", "--steal"]] },
    { head: "Disk", format: rate, series: [["disk_read", "read", "--l1"], ["disk_write", "write", "--l2"]] },
    { head: "Network", format: rate, series: [["net_sent", "sent", "--l1"], ["net_received", "received", "--l2"]] },
    { head: "Memory", format: bytes, series: [["memory_used", "used", "--l1"], ["page_cache", "page cache", "--l2"]] }
  ];
  const KINDS = [["map", "--map"], ["reduce", "--reduce"], ["failed or killed", "--bad"]];
  const HEIGHT = 92, GAP = 44, LANE = 7;
  let trial, host, scale, left, right, bottom;

  function esc(text) {
    return String(text).replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }[c]));
  }
  function short(v) { return String(v >= 100 ? Math.round(v) : Number(v.toPrecision(3))); }
  function prefixed(v) {
    const steps = [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]];
    for (const [factor, name] of steps) if (v >= factor) return short(v / factor) + name;
    return v ? short(v) + " " : "0 ";
  }
  function bytes(v) { return prefixed(v) + "B"; }
  function rate(v) { return prefixed(v) + "B/s"; }
  function percent(v) { return Math.round(v * 100) + " %"; }
  function nice(top) {
    const power = Math.pow(10, Math.floor(Math.log10(top)));
    for (const m of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) if (m * power >= top * 0.999) return m * power;
    return 10 * power;
  }
  function swatch(words, colour) {
    return `<li><span class="swatch" style="background:var(${colour})"></span>${esc(words)}</li>`;
  }

  function panel(spec, y) {
    const data = trial.hosts[host] || {};
    const known = spec.series.filter(s => data[s[0]] && data[s[0]].some(p => p[1] > 0));
    const head = box.clientWidth < 500 ? spec.head.split(",")[0] : spec.head;
    let out = `<text class="head" x="0" y="${y - 12}">${head}</text>`;
    if (!known.length) {
      const any = spec.series.some(s => data[s[0]]);
      return out + `<text x="${left}" y="${y + 20}">${any ? "none" : "not recorded"}</text>`;
    }
    let top = spec.top || 0;
    if (!spec.top) {
      for (const s of known) for (const p of data[s[0]]) top = Math.max(top, p[1] || 0);
      top = nice(top);
    }
    const py = v => y + HEIGHT * (1 - Math.min(v, top) / top);
    for (const share of [0, 0.5, 1]) {
      const at = y + HEIGHT * (1 - share);
      out += `<line class="grid" x1="${left}" x2="${right}" y1="${at}" y2="${at}"/>` +
        `<text x="${left - 8}" y="${at + 4}" text-anchor="end">${spec.format(top * share)}</text>`;
    }
    const base = new Map();
    let label = "";
    for (const [name, words, colour] of known) {
      const points = data[name].filter(p => p[1] !== null);
      if (spec.stack) {
        const upper = [], lower = [];
        for (const [slot, v] of points) {
          const from = base.get(slot) || 0;
          base.set(slot, from + v);
          upper.push(`${px(slot)},${py(from + v).toFixed(1)}`);
          lower.unshift(`${px(slot)},${py(from).toFixed(1)}`);
        }
        out += `<polygon points="${upper.concat(lower).join(" ")}" style="fill:var(${colour})"/>`;
      } else {
        const line = points.map(p => `${px(p[0])},${py(p[1]).toFixed(1)}`).join(" ");
        out += `<polyline points="${line}" fill="none" stroke-width="1.6" stroke-linejoin="round" style="stroke:var(${colour})"/>`;
      }
      label += `<tspan style="fill:var(${colour})">\u00A0\u00A0\u25A0</tspan><tspan>\u00A0${words.replace(/ /g, "\u00A0")}</tspan>`;
    }
    return out + `<text x="${right}" y="${y - 12}" text-anchor="end">${label}</text>`;
  }
  function px(slot) { return (scale((slot + 0.5) * trial.step)).toFixed(1); }

  function lanes(y) {
    let out = "";
    for (const [name, bars] of trial.lanes) {
      out += `<text class="head" x="0" y="${y - 5}">${esc(name)}</text>`;
      let count = 1;
      for (const [lane, start, length, kind, shuffle] of bars) {
        count = Math.max(count, lane + 1);
        const at = y + lane * LANE, x = scale(start);
        const wide = Math.max(1, scale(start + length) - x - 0.6);
        out += rect(x, at, wide, KINDS[kind][1]);
        if (kind === 1 && shuffle > 0) out += rect(x, at, Math.min(wide, scale(start + shuffle) - x), "--shuffle");
      }
      y += count * LANE + 26;
    }
    return [out, y];
  }
  function rect(x, y, wide, colour) {
    return `<rect x="${x.toFixed(1)}" y="${y}" width="${wide.toFixed(1)}" height="${LANE - 1.5}" style="fill:var(${colour})"/>`;
  }

  function draw() {
    const width = Math.max(280, box.clientWidth);
    left = width < 500 ? 66 : 78;
    right = width - 6;
    scale = t => left + (right - left) * t / trial.span;
    let body = "", y = 62;
    for (const spec of PANELS) { body += panel(spec, y); y += HEIGHT + GAP; }
    if (trial.lanes.length) {
      body += `<text class="head" x="0" y="${y - 8}">Task attempts by host</text>`;
      const drawn = lanes(y + 22);
      body += drawn[0];
      y = drawn[1] + 2;
    }
    bottom = y - 14;
    let bands = "";
    trial.phases.forEach(([name, start, length], i) => {
      const a = scale(start), b = scale(start + length);
      bands += `<rect class="band" x="${a}" y="28" width="${b - a}" height="${bottom - 28}"/>` +
        `<line class="edge" x1="${a}" x2="${a}" y1="20" y2="${bottom}"/>` +
        `<text x="${Math.min(a + 4, right - 7 * name.length)}" y="${b - a > 7 * name.length ? 22 : 22 - 13 * (i % 2)}">${esc(name)}</text>`;
    });
    let ticks = "";
    const step = nice(trial.span / (width < 500 ? 4 : 8));
    for (let t = 0; t <= trial.span; t += step) {
      ticks += `<text x="${scale(t)}" y="${bottom + 16}" text-anchor="middle">${Math.round(t * 10) / 10}</text>`;
    }
    ticks += `<text x="${right}" y="${bottom + 34}" text-anchor="end">seconds since the trial's start</text>`;
    box.innerHTML = `<svg viewBox="0 0 ${width} ${bottom + 42}" role="img" aria-label="${esc(alternative())}">` +
      bands + body + ticks + `<line class="cursor" id="cursor" y1="28" y2="${bottom}"/></svg>`;
    move();
  }
  function alternative() {
    return `Timeline of trial ${trial.id} on ${host || "no host"}: CPU, disk, network and memory by second, ` +
      "and task attempts by worker. The tables below give the numbers by phase.";
  }

  function move() {
    const t = Number(slider.value);
    const line = document.getElementById("cursor");
    if (line) { line.setAttribute("x1", scale(t)); line.setAttribute("x2", scale(t)); }
    const slot = Math.floor(t / trial.step), data = trial.hosts[host] || {};
    const parts = [];
    for (const spec of PANELS) {
      for (const [name, words] of spec.series) {
        const hit = (data[name] || []).find(p => p[0] === slot);
        if (hit && hit[1] !== null && name !== "cpu_steal") {
          parts.push(`${spec.head.split(",")[0]} ${words} ${spec.format(hit[1])}`);
        }
      }
    }
    const phase = trial.phases.find(p => t >= p[1] && t <= p[1] + p[2]);
    const words = `At ${t.toFixed(0)} s, ${phase ? phase[0] : "between phases"}: `;
    readout.textContent = words + (parts.join(", ") || "nothing recorded");
    slider.setAttribute("aria-valuetext", `${t.toFixed(0)} seconds`);
  }

  function choose() {
    trial = trials[Number(pick.value)];
    const hosts = Object.keys(trial.hosts);
    if (!hosts.includes(host)) host = hosts[0];
    hostPick.innerHTML = hosts.map(h => `<option${h === host ? " selected" : ""}>${esc(h)}</option>`).join("");
    hostPick.parentElement.hidden = hosts.length < 2;
    slider.max = Math.floor(trial.span);
    const longest = trial.phases.slice().sort((a, b) => b[2] - a[2])[0];
    slider.value = longest ? Math.floor(longest[1] + longest[2] / 2) : 0;
    for (const part of document.querySelectorAll("[data-trial]")) part.hidden = part.dataset.trial !== trial.id;
    draw();
  }

  document.getElementById("task-key").innerHTML =
    swatch("map", "--map") + swatch("reduce: shuffle", "--shuffle") +
    swatch("reduce: merge and reduce", "--reduce") + swatch("failed or killed", "--bad");
  pick.addEventListener("change", choose);
  hostPick.addEventListener("change", () => { host = hostPick.value; draw(); });
  slider.addEventListener("input", move);
  box.addEventListener("pointermove", event => {
    const area = box.getBoundingClientRect();
    const t = (event.clientX - area.left - left) / (right - left) * trial.span;
    if (t >= 0 && t <= trial.span) { slider.value = t; move(); }
  });
  let timer;
  window.addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(draw, 120); });
  choose();
})();
