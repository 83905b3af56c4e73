/* Search in a site that is opened from a folder: browsers start no worker from file://, so that a
   frame stands in for it. Over http nothing here runs. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = `<script>
        const given = { importScripts(...urls) {
          return urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {
            const script = document.createElement("script");
            script.src = url; script.onload = done; script.onerror = failed;
            document.head.append(script);
          })), Promise.resolve());
        } };
        window.importScripts = given.importScripts;
        window.postMessage = (data) => parent.dispatchEvent(
          new CustomEvent("frame-answer", { detail: { frame: window, data } }));
        addEventListener("ask", (event) =>
          dispatchEvent(new MessageEvent("message", { data: event.detail })));
      </` + `script><script src="${url}"></` + `script>`;
      window.addEventListener("frame-answer", (event) => {
        if (event.detail.frame === frame.contentWindow)
          this.dispatchEvent(new MessageEvent("message", { data: event.detail.data }));
      });
      frame.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      };
      document.body.append(frame);
      this.frame = frame;
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new CustomEvent("ask", { detail: data }));
    }
    terminate() { this.frame.remove(); }
  };
}
