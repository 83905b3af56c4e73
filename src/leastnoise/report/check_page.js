// A page runs check.js, which stands above in the same script, in a worker, so that no file can
// freeze the page, and shows its lines as text. See check_page.py.
(() => {
  if (typeof document === "undefined") {
    onmessage = ({ data: [files, without] }) => {
      output.say = (line) => postMessage(line);
      postMessage(main(new Map(files), without));
    };
    return;
  }
  const [SECONDS, LINES, LARGEST] = [120, 2000, 2 ** 30];
  const source = document.currentScript.textContent;
  const find = (name) => document.getElementById(`check-${name}`);
  const embedded = find("data") && JSON.parse(find("data").textContent);
  let stop = () => {};

  function start(files, without) {
    stop();
    find("lines").textContent = "";
    find("verdict").textContent = "Checking …";
    let [count, heard] = [0, false];
    const say = (line) => {
      count += 1;
      if (count <= LINES) find("lines").append(`${line}\n`);
      else if (count === LINES + 1) find("lines").append("… and more lines.\n");
    };
    const end = (verdict) => {
      stop();
      find("verdict").textContent = verdict;
    };
    const here = () => {
      output.say = say;
      end(VERDICTS[main(new Map(files), without)]);
    };
    let worker;
    try {
      worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    } catch {
      setTimeout(here); // a browser that allows no worker
      return;
    }
    const late = () => end(`Not checked: it takes more than ${SECONDS} seconds here.`);
    const timer = setTimeout(late, SECONDS * 1000);
    stop = () => {
      clearTimeout(timer);
      worker.terminate();
    };
    worker.onmessage = ({ data }) => {
      heard = true;
      if (typeof data === "string") say(data);
      else end(VERDICTS[data]);
    };
    worker.onerror = () => {
      stop();
      if (heard) end("Not checked: the check broke off.");
      else here();
    };
    worker.postMessage([files, without]);
  }

  async function open(files) {
    const isTop = ({ webkitRelativePath: path }) => path.split("/").length <= 2;
    const small = files.filter((file) => isTop(file) && file.size <= LARGEST);
    const read = async (file) => [file.name, new Uint8Array(await file.arrayBuffer())];
    const contents = await Promise.all(small.map(read));
    const seal = new Map(contents).get("release.json");
    if (embedded && !(seal && new TextDecoder().decode(seal) === embedded["release.json"])) {
      stop();
      const why = "REJECTED: release.json in that folder is not the one of this page.\n";
      find("lines").textContent = why;
      find("verdict").textContent = VERDICTS[1];
    } else if (contents.length) start(contents, false);
  }

  async function entries(folder) {
    const [reader, known] = [folder.createReader(), []];
    for (;;) {
      const more = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      known.push(...more);
      if (!more.length || known.length >= 10_000) return known;
    }
  }

  async function drop(event) {
    event.preventDefault();
    const files = [...event.dataTransfer.files];
    const items = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.());
    if (!items[0]?.isDirectory) return open(files);
    const inside = (await entries(items[0])).filter((entry) => entry.isFile);
    const file = (entry) => new Promise((resolve, reject) => entry.file(resolve, reject));
    return open(await Promise.all(inside.map(file)));
  }

  if (embedded) {
    const encode = ([name, text]) => [name, new TextEncoder().encode(text)];
    const texts = Object.entries(embedded).map(encode);
    find("button").addEventListener("click", () => start(texts, true));
  } else {
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", drop);
  }
  for (const input of document.querySelectorAll("input[type=file]")) {
    input.addEventListener("change", () => open([...input.files]));
  }
})();
