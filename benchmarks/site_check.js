// What a reader of a page can't read: see site_check.py, which fills in PAGES and WIDTHS.
const found = [];

function isSeen(element) {
  const box = element.getBoundingClientRect();
  return box.width > 0 && box.height > 0 && getComputedStyle(element).visibility === "visible";
}

function isCut(element) {
  const hides = ["hidden", "clip"].includes(getComputedStyle(element).overflowX);
  return hides && element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1;
}

// A word may go on below after a hyphen or another sign between letters.
function isBroken(node, start, end) {
  const range = node.ownerDocument.createRange();
  let before = null;
  for (let at = start; at < end; at++) {
    range.setStart(node, at);
    range.setEnd(node, at + 1);
    const box = range.getClientRects()[0];
    if (!box || box.width === 0) continue;
    if (before && box.top > before + 2 && /[\p{L}\p{N}]/u.test(node.data[at - 1])) return true;
    before = box.top;
  }
  return false;
}

function listBroken(root) {
  const walker = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const words = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("pre, script, style, math, svg, .md-search")) continue;
    if (!isSeen(node.parentElement)) continue;
    for (const word of node.data.matchAll(/\S+/g)) {
      if (word[0].includes("://") || word[0].length > 40) continue;
      if (isBroken(node, word.index, word.index + word[0].length)) words.push(word[0]);
    }
  }
  return words;
}

function check(document, name, width, forNewcomers) {
  const say = (what) => found.push(`${name}, ${width} px: ${what}`);
  const root = document.documentElement;
  if (root.scrollWidth > width) say(`is ${root.scrollWidth} px wide`);
  const content = document.querySelector(".md-content") || document.body;
  for (const element of content.querySelectorAll("*")) {
    if (isSeen(element) && isCut(element) && !element.closest("svg, math")) {
      say(`cut off: ${element.tagName} ${element.textContent.trim().slice(0, 50)}`);
    }
  }
  for (const word of listBroken(content)) say(`breaks in a word: ${word}`);
  if (!forNewcomers || width < 1200) return;
  for (const code of content.querySelectorAll("pre > code")) {
    const lines = code.textContent.split("\n");
    const letter = code.scrollWidth / Math.max(...lines.map((line) => line.length));
    const most = code.scrollWidth > code.clientWidth + 1 ? code.clientWidth / letter : Infinity;
    for (const line of lines) {
      if (line.length > most && !line.startsWith("$ ")) say(`has to be scrolled: ${line.trim()}`);
    }
  }
}

function open(url, width) {
  return new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.width = width;
    frame.height = 1000;
    frame.onload = () => resolve(frame);
    frame.src = url;
    document.body.append(frame);
  });
}

(async () => {
  for (const [url, name, forNewcomers] of PAGES) {
    for (const width of WIDTHS) {
      const frame = await open(url, width);
      check(frame.contentDocument, name, width, forNewcomers);
      frame.remove();
    }
  }
  document.getElementById("found").textContent = JSON.stringify(found);
})();
