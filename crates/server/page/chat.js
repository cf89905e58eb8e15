// The chat: messages, streaming, settings. The conversation stays in this tab; settings are kept by the browser.
import { markdown } from "./markdown.js";

const $ = (id) => document.getElementById(id);
const FIELDS = ["system", "temperature", "top_p", "top_k", "max_tokens", "seed", "key"];
let messages = [];
let models = [];
let running = null;

function headers() {
  const key = $("key").value;
  return { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) };
}

function body() {
  const number = (id) => ($(id).value === "" ? undefined : Number($(id).value));
  const system = $("system").value.trim();
  const history = messages.filter((m) => !m.error).map(({ role, content }) => ({ role, content }));
  return {
    model: chosen()?.id,
    messages: system ? [{ role: "system", content: system }, ...history] : history,
    temperature: number("temperature"), top_p: number("top_p"), top_k: number("top_k"),
    max_tokens: number("max_tokens"), seed: number("seed"),
    stream: true, stream_options: { include_usage: true },
  };
}

// The model that answers; the server's first where none is chosen.
function chosen() {
  return models.find((model) => model.id === $("name").value) ?? models[0];
}

function showModel() {
  const model = chosen();
  $("model").textContent = model ? model.id + (model.device ? ` on ${model.device}` : "") : "";
}

// Objects of a stream of server-sent events.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    held += value;
    const parts = held.split("\n\n");
    held = parts.pop();
    for (const part of parts) {
      const data = part.replace(/^data: /, "");
      if (data === "[DONE]") return;
      if (data) yield JSON.parse(data);
    }
  }
}

async function answer() {
  const reply = { role: "assistant", content: "", reasoning: "" };
  const started = performance.now();
  let first = 0, usage = null, waiting = false;
  running = new AbortController();
  const request = { method: "POST", headers: headers(), body: JSON.stringify(body()), signal: running.signal };
  messages.push(reply);
  render();
  // At most one redraw per frame, however fast tokens come.
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; show(reply); });
  };
  try {
    const response = await fetch("v1/chat/completions", request);
    if (!response.ok) throw new Error((await response.json()).error.message);
    for await (const chunk of events(response)) {
      if (chunk.error) throw new Error(chunk.error.message);
      usage = chunk.usage ?? usage;
      const delta = chunk.choices[0]?.delta ?? {};
      if (!first && (delta.content || delta.reasoning_content)) first = performance.now();
      reply.content += delta.content ?? "";
      reply.reasoning += delta.reasoning_content ?? "";
      redraw();
    }
  } catch (error) {
    if (error.name !== "AbortError") reply.error = error.message;
  }
  running = null;
  if (usage && first) {
    const seconds = (performance.now() - first) / 1000;
    const rate = usage.completion_tokens > 1 && seconds > 0 ? (usage.completion_tokens - 1) / seconds : 0;
    const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
    reply.note = `${usage.completion_tokens} tokens, ${rate.toFixed(1)} tokens/s, first after ` +
      `${Math.round(first - started)} ms, prompt ${usage.prompt_tokens} (${cached} cached)`;
    // A model that was loaded for this answer has a device now.
    if (!chosen()?.device) connect();
  }
  render();
  $("input").focus();
}

function button(label, action) {
  const node = document.createElement("button");
  node.type = "button";
  node.textContent = label;
  node.addEventListener("click", action);
  return node;
}

function element(name, className, ...children) {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function content(message) {
  const parts = [];
  if (message.reasoning) {
    const thoughts = element("details", "", element("summary", "", "Reasoning"), element("div", "", message.reasoning));
    thoughts.open = !message.content;
    parts.push(thoughts);
  }
  parts.push(message.role === "user" ? message.content : markdown(message.content));
  if (message.error) parts.push(element("p", "error", message.error));
  return parts;
}

function tools(message, index) {
  const row = element("div", "tools");
  if (running) return row;
  if (message.role === "user") row.append(button("Edit", () => edit(index)));
  else {
    row.append(button("Retry", () => { messages.length = index; answer(); }));
    row.append(button("Copy", () => navigator.clipboard.writeText(message.content)));
  }
  if (message.note) row.append(element("span", "note", message.note));
  return row;
}

function render() {
  const nodes = messages.map((message, index) => {
    message.body = element("div", "body", ...content(message));
    return element("article", `message ${message.role}`, message.body, tools(message, index));
  });
  $("messages").replaceChildren(...nodes);
  $("stop").hidden = !running;
  $("send").hidden = Boolean(running);
  document.documentElement.dataset.running = Boolean(running);
  $("messages").scrollTop = $("messages").scrollHeight;
}

// Redraws one message; whoever has scrolled up stays there.
function show(message) {
  const area = $("messages");
  const follows = area.scrollHeight - area.scrollTop - area.clientHeight < 80;
  message.body.replaceChildren(...content(message));
  if (follows) area.scrollTop = area.scrollHeight;
}

function edit(index) {
  const area = element("textarea", "");
  area.value = messages[index].content;
  area.rows = Math.min(12, area.value.split("\n").length + 1);
  const done = button("Send", () => {
    messages.length = index;
    send(area.value);
  });
  messages[index].body.parentElement.replaceChildren(area, element("div", "tools", done, button("Cancel", render)));
  area.focus();
}

function send(text) {
  if (running || !text.trim()) return;
  messages.push({ role: "user", content: text });
  answer();
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  localStorage.setItem("wootz.theme", theme ?? "");
}

function connect() {
  fetch("v1/models", { headers: headers() })
    .then(async (response) => {
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.error.message);
      models = answer.data;
      $("name").replaceChildren(...models.map((model) => element("option", "", model.id)));
      $("name").value = models.find((model) => model.id === localStorage.getItem("wootz.name"))?.id ?? models[0].id;
      showModel();
      $("status").textContent = "";
    })
    .catch((error) => { $("status").textContent = error.message; });
}

function start() {
  for (const id of FIELDS) {
    const kept = localStorage.getItem(`wootz.${id}`);
    if (kept !== null) $(id).value = kept;
    $(id).addEventListener("change", () => {
      localStorage.setItem(`wootz.${id}`, $(id).value);
      if (id === "key") connect();
    });
  }
  $("name").addEventListener("change", () => {
    localStorage.setItem("wootz.name", $("name").value);
    showModel();
  });
  setTheme(localStorage.getItem("wootz.theme") || undefined);
  $("theme").addEventListener("click", () => {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
    setTheme(dark ? "light" : "dark");
  });
  $("open-settings").addEventListener("click", () => {
    $("settings").hidden = !$("settings").hidden;
    $("open-settings").setAttribute("aria-expanded", String(!$("settings").hidden));
  });
  const clear = () => { running?.abort(); messages = []; render(); $("input").focus(); };
  $("clear").addEventListener("click", clear);
  $("stop").addEventListener("click", () => running?.abort());
  const input = $("input");
  const submit = () => {
    if (running) return;
    const text = input.value;
    input.value = "";
    input.style.height = "";
    send(text);
  };
  $("form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); submit(); }
  });
  input.addEventListener("input", () => { input.style.height = ""; input.style.height = `${input.scrollHeight + 2}px`; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") running?.abort();
    if (event.altKey && event.key === "n") { event.preventDefault(); clear(); }
  });
  connect();
  document.documentElement.dataset.ready = "true";
}

start();
