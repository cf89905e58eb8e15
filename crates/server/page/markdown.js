// Markdown to DOM nodes. Nothing is ever parsed as HTML: text goes in as text, so that an answer cannot run anything.

const BLOCK = /^(```|~~~|#{1,6} |> ?|[-*+] |\d+[.)] |\|)/;

// Inline code, bold, emphasis, strikethrough and links.
export function inline(text, into) {
  const pattern = /(`+)([\s\S]+?)\1|\*\*([\s\S]+?)\*\*|(?<![\w*])\*(\S(?:[\s\S]*?\S)?)\*(?![\w*])|~~([\s\S]+?)~~|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/g;
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    into.append(text.slice(from, match.index));
    from = match.index + match[0].length;
    const [, , code, bold, emphasis, struck, label, address] = match;
    const add = (name, content, plain) => {
      const node = document.createElement(name);
      if (plain) node.textContent = content; else inline(content, node);
      into.append(node);
      return node;
    };
    if (code !== undefined) add("code", code.trim(), true);
    else if (bold !== undefined) add("strong", bold);
    else if (emphasis !== undefined) add("em", emphasis);
    else if (struck !== undefined) add("del", struck);
    else {
      const link = add("a", label);
      link.href = address;
      link.rel = "noopener noreferrer";
      link.target = "_blank";
    }
  }
  into.append(text.slice(from));
  return into;
}

function codeBlock(lines, language) {
  const pre = document.createElement("pre");
  const code = document.createElement("code");
  code.textContent = lines.join("\n");
  if (language) code.dataset.language = language;
  const copy = document.createElement("button");
  copy.className = "copy";
  copy.type = "button";
  copy.textContent = "Copy";
  copy.addEventListener("click", () => navigator.clipboard.writeText(code.textContent));
  pre.append(code, copy);
  return pre;
}

function table(rows) {
  const node = document.createElement("table");
  rows.filter((row) => !/^\s*\|?[\s:|-]+\|?\s*$/.test(row)).forEach((row, index) => {
    const line = document.createElement("tr");
    for (const cell of row.trim().replace(/^\||\|$/g, "").split("|")) {
      line.append(inline(cell.trim(), document.createElement(index ? "td" : "th")));
    }
    node.append(line);
  });
  return node;
}

// A whole text. An unfinished code block is shown as far as it is there.
export function markdown(text) {
  const root = document.createDocumentFragment();
  const lines = text.split("\n");
  const take = (test) => {
    const taken = [];
    while (lines.length && test(lines[0])) taken.push(lines.shift());
    return taken;
  };
  while (lines.length) {
    const line = lines[0];
    const heading = /^(#{1,6}) (.*)/.exec(line);
    const item = /^\s*([-*+]|\d+[.)]) /.exec(line);
    if (/^\s*(```|~~~)/.test(line)) {
      const fence = line.trim().slice(0, 3);
      const language = lines.shift().trim().slice(3).trim();
      const body = take((l) => !l.trim().startsWith(fence));
      lines.shift();
      root.append(codeBlock(body, language));
    } else if (heading) {
      lines.shift();
      root.append(inline(heading[2], document.createElement(`h${Math.min(6, heading[1].length + 1)}`)));
    } else if (line.startsWith(">")) {
      const quote = document.createElement("blockquote");
      quote.append(markdown(take((l) => l.startsWith(">")).map((l) => l.replace(/^> ?/, "")).join("\n")));
      root.append(quote);
    } else if (item) {
      const list = document.createElement(/\d/.test(item[1]) ? "ol" : "ul");
      const isItem = (l) => /^\s*([-*+]|\d+[.)]) /.test(l);
      while (lines.length && isItem(lines[0])) {
        const first = lines.shift().replace(/^\s*([-*+]|\d+[.)]) /, "");
        const rest = take((l) => l.trim() && /^\s{2,}/.test(l) && !isItem(l));
        list.append(inline([first, ...rest].join("\n"), document.createElement("li")));
      }
      root.append(list);
    } else if (line.startsWith("|")) {
      root.append(table(take((l) => l.startsWith("|"))));
    } else if (!line.trim()) {
      lines.shift();
    } else {
      const first = lines.shift();
      const rest = take((l) => l.trim() && !BLOCK.test(l));
      root.append(inline([first, ...rest].join("\n"), document.createElement("p")));
    }
  }
  return root;
}
