// What pages can do beyond forms and links: prices while you type, completion, progress, uploads. Every page
// works without this file. Nothing here stores anything, and it talks to this server alone.
"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const later = (work, wait) => { let timer; return () => { clearTimeout(timer); timer = setTimeout(work, wait); }; };

  // ---- the server: away, back, or this visit over -----------------------------------------------------
  let away = false;
  const back = async () => {
    try {
      const reply = await fetch("/readyz", { cache: "no-store" });
      if (!reply.ok) throw new Error("not ready");
      away = false; by("offline").hidden = true;
      document.dispatchEvent(new Event("back"));
    } catch { setTimeout(back, 1000); }
  };
  const lost = () => { if (!away) { away = true; by("offline").hidden = false; setTimeout(back, 1000); } };
  const get = async (path, options) => {
    try {
      const reply = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
      if (reply.status === 401) { by("ended").hidden = false; return null; }
      if (reply.status === 503) { lost(); return null; }
      return reply;
    } catch (error) { if (error.name !== "AbortError") lost(); return null; }
  };
  window.addEventListener("offline", lost);

  // ---- asking: the price while typing, choices and SQL that follow each other --------------------------
  const sql = by("sql"), price = by("price"), within = by("within");
  if (sql && price) {
    const base = price.dataset.from;
    let waiting = null;
    const look = async (choices) => {
      if (waiting) waiting.abort();
      waiting = new AbortController();
      const asked = new URLSearchParams({ sql: sql.value, within: within.value });
      price.setAttribute("aria-busy", "true");
      const reply = await get(`${base}/price?${asked}`, { signal: waiting.signal });
      price.removeAttribute("aria-busy");
      if (!reply || !reply.ok) return;
      const made = new DOMParser().parseFromString(await reply.text(), "text/html");
      price.replaceChildren(...(made.getElementById("price-now")?.childNodes ?? []));
      const place = by("builder-place");
      if (choices && place && !place.contains(document.activeElement)) {
        place.replaceChildren(...(made.getElementById("builder-now")?.childNodes ?? []));
      }
    };
    const soon = later(() => look(true), 350);
    sql.addEventListener("input", soon);
    within.addEventListener("input", soon);
    document.addEventListener("back", () => look(true));
    by("builder-place")?.addEventListener("input", later(async () => {
      const form = by("builder");
      if (!form) return;
      const chosen = new URLSearchParams(new FormData(form));
      const reply = await get(`${base}/compose?${chosen}`);
      if (reply && reply.ok) { sql.value = await reply.text(); look(false); }
    }, 120));
    by("builder-place")?.addEventListener("submit", (event) => { event.preventDefault(); by("ask").requestSubmit(); });
    sql.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); by("ask").requestSubmit(); }
    });
    complete(sql, base);
    if (window.innerWidth < 760 && document.querySelector(".answer")) by("clicks").open = false;
    if (!price.dataset.known) look(false);
  }

  // ---- completion: columns and levels of the declared schema, and the words of SQL ---------------------
  function complete(area, base) {
    const list = by("complete");
    const words = ["SELECT", "COUNT(*)", "SUM(", "AVG(", "FROM", "WHERE", "GROUP BY", "ORDER BY", "AND", "OR", "BETWEEN", "AS n", "LIMIT"]
      .map((text) => ({ text, about: "" }));
    let all = words, chosen = 0, shown = [], begin = 0;
    get(`/v1/datasets/${base.split("/").pop()}/schema`).then(async (reply) => {
      if (!reply || !reply.ok) return;
      const plain = (name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
      const told = (await reply.json()).attributes;
      all = told.map((a) => ({ text: plain(a.name), about: a.kind }));
      for (const a of told) if (a.kind === "levels") for (const l of a.levels.slice(0, 50)) all.push({ text: `'${l.replaceAll("'", "''")}'`, about: a.name });
      all = all.concat(words);
    });
    const hide = () => { list.hidden = true; area.removeAttribute("aria-activedescendant"); };
    const draw = () => {
      list.replaceChildren(...shown.map((item, i) => {
        const line = document.createElement("li");
        line.id = `complete-${i}`; line.setAttribute("role", "option"); line.setAttribute("aria-selected", String(i === chosen));
        line.textContent = item.text;
        if (item.about) { const small = document.createElement("small"); small.textContent = item.about; line.append(small); }
        line.addEventListener("mousedown", (event) => { event.preventDefault(); chosen = i; take(); });
        return line;
      }));
      list.hidden = shown.length === 0;
      if (shown.length) area.setAttribute("aria-activedescendant", `complete-${chosen}`);
      list.children[chosen]?.scrollIntoView({ block: "nearest" });
    };
    const take = () => {
      area.setRangeText(shown[chosen].text, begin, area.selectionStart, "end");
      hide(); area.dispatchEvent(new Event("input"));
    };
    area.addEventListener("input", (event) => {
      if (!event.isTrusted) return;
      const before = area.value.slice(0, area.selectionStart);
      const word = /["'\w]+$/.exec(before)?.[0] ?? "";
      begin = before.length - word.length; chosen = 0;
      const bare = word.replace(/["']/g, "").toLowerCase();
      shown = bare.length < 2 ? [] : all.filter((i) => i.text.replace(/["']/g, "").toLowerCase().startsWith(bare) && i.text.length > word.length).slice(0, 8);
      draw();
    });
    area.addEventListener("keydown", (event) => {
      if (list.hidden) return;
      if (event.key === "Escape") { hide(); event.stopPropagation(); }
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault(); chosen = (chosen + (event.key === "ArrowDown" ? 1 : shown.length - 1)) % shown.length; draw();
      } else if ((event.key === "Tab" || event.key === "Enter") && !event.shiftKey && !event.ctrlKey && !event.metaKey) { event.preventDefault(); take(); }
    });
    area.addEventListener("blur", hide);
  }

  // ---- sharing: the link goes to the clipboard ---------------------------------------------------------
  by("share")?.addEventListener("click", async (event) => {
    if (!navigator.clipboard) return;
    event.preventDefault();
    await navigator.clipboard.writeText(event.currentTarget.href).then(() => { by("share").textContent = "Copied"; }, () => { location.href = by("share").href; });
  });

  // ---- forms say that they are at work, and are sent once ----------------------------------------------
  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    const button = event.submitter ?? event.target.querySelector("button");
    if (event.target.dataset.sent) { event.preventDefault(); return; }
    event.target.dataset.sent = "1";
    button?.setAttribute("aria-busy", "true");
  });
  window.addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => {
    delete form.dataset.sent; form.querySelectorAll("[aria-busy]").forEach((b) => b.removeAttribute("aria-busy"));
  }));

  // ---- where one is: the tab of this page is in sight on a narrow one ------------------------------------
  const here = document.querySelector(".tabs [aria-current]");
  if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 40;

  // ---- buttons that spend say how much -----------------------------------------------------------------
  for (const button of document.querySelectorAll("[data-amount]")) {
    const field = by(button.dataset.amount), plain = button.textContent;
    const say = () => { button.textContent = Number(field.value) > 0 ? button.dataset.says.replace("{}", field.value.trim()) : plain; };
    field.addEventListener("input", say); say();
  }

  // ---- jobs: progress as it is made; a server that comes back goes on ----------------------------------
  for (const job of document.querySelectorAll("[data-job]")) {
    const follow = () => {
      const events = new EventSource(`/v1/jobs/${job.dataset.job}/events`);
      const show = (event) => {
        const told = JSON.parse(event.data);
        job.querySelector("progress").value = told.part ?? 0;
        job.querySelector("[data-words]").textContent = told.words;
      };
      events.addEventListener("progress", show);
      events.addEventListener("done", (event) => { show(event); events.close(); location.replace(job.dataset.then || location.href); });
      events.onerror = () => { if (events.readyState === EventSource.CLOSED) lost(); else lost(); };
    };
    follow();
    document.addEventListener("back", () => location.reload());
    break;
  }

  // ---- adding a file: its bytes go to this server, and to nobody else ----------------------------------
  const upload = by("upload");
  if (upload) {
    by("upload-form").hidden = false;
    by("upload-form").addEventListener("submit", async (event) => {
      event.preventDefault();
      const file = upload.files[0];
      if (!file) return;
      const stem = file.name.replace(/\.[^.]*$/, "").toLowerCase().replace(/[^a-z0-9_]+/g, "_").slice(0, 60) || "data";
      const reply = await get(`/v1/datasets?name=${encodeURIComponent(stem)}`, { method: "POST", body: file, headers: { "Content-Type": "text/csv" } });
      if (!reply) return;
      const told = await reply.json();
      if (reply.ok) location.href = `/d/${told.name}/setup`;
      else {
        by("upload-words").textContent = [told.error.message, told.error.hint].filter(Boolean).join(" ");
        by("upload-words").hidden = false;
        delete event.target.dataset.sent; event.target.querySelector("button").removeAttribute("aria-busy");
      }
    });
  }
})();
