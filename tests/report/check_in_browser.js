// Press what a reader presses: test_check_page.py fills in PAGE, WIDTH, FILES, DROP and LATE.
// It asks again by messages, not by a timer: the clock of a headless browser runs ahead of workers.
const [frame, again] = [document.createElement("iframe"), new MessageChannel()];
const refused = [];

function look(page) {
  const verdict = page.getElementById("check-verdict").textContent;
  if (verdict === "" || verdict === "Checking …") return again.port2.postMessage(0);
  const seen = {
    verdict,
    lines: page.getElementById("check-lines").textContent.trim().split("\n"),
    elements: page.querySelectorAll("#check-lines *").length,
    width: page.documentElement.scrollWidth,
    workers,
    refused,
  };
  document.getElementById("seen").textContent = JSON.stringify(seen);
}

let workers = 0;
frame.onload = () => {
  const [page, view] = [frame.contentDocument, frame.contentWindow];
  page.addEventListener("securitypolicyviolation", (event) => refused.push(event.violatedDirective));
  const { Worker } = view;
  view.Worker = function (...given) {
    workers += 1;
    return new Worker(...given);
  };
  if (LATE) view.setTimeout = (call) => setTimeout(call);
  const [transfer, input] = [new view.DataTransfer(), page.querySelector("input[type=file]")];
  for (const [name, text] of FILES ?? []) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    transfer.items.add(new view.File([bytes], name));
  }
  if (FILES === null) page.getElementById("check-button").click();
  else if (DROP) {
    const event = new view.DragEvent("drop", { dataTransfer: transfer, cancelable: true });
    page.dispatchEvent(event);
  } else {
    input.files = transfer.files;
    input.dispatchEvent(new view.Event("change"));
  }
  again.port1.onmessage = () => look(page);
  look(page);
};
[frame.width, frame.height, frame.src] = [WIDTH, 900, PAGE];
document.body.append(frame);
