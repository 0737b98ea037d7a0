// Pages opened as files: browsers start no workers there. A hidden frame runs the script of the search instead.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe"), early = [];
      frame.hidden = true;
      this.postMessage = (data) => early.push(data);
      const begin = () => {
        document.body.append(frame);
        const inside = frame.contentWindow, page = frame.contentDocument;
        const load = (src) => new Promise((done, failed) => {
          const script = page.createElement("script");
          script.src = src; script.onload = done; script.onerror = failed;
          page.body.append(script);
        });
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        inside.importScripts = (...urls) => urls.reduce((before, src) => before.then(() => load(src)), Promise.resolve());
        inside.addEventListener("error", (event) => this.dispatchEvent(new ErrorEvent("error", { message: event.message })));
        load(new URL(url, location.href).href).then(() => {
          this.postMessage = (data) => inside.dispatchEvent(new MessageEvent("message", { data }));
          early.splice(0).forEach((data) => this.postMessage(data));
        });
      };
      document.body ? begin() : addEventListener("DOMContentLoaded", begin);
    }
    terminate() {}
  };
}
