/* Browsers refuse workers on pages that are opened from files. The search then runs in a hidden frame with the interface of a worker. */
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inner = (this.inner = frame.contentWindow)
      inner.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        this.onmessage?.(event)
      }
      inner.importScripts = (...urls) =>
        urls.reduce((done, each) => done.then(() => this.load(each)), Promise.resolve())
      this.load(url).then(() => {
        this.ready = true
        this.waiting.splice(0).forEach(data => this.postMessage(data))
      })
    }

    load(url) {
      return new Promise((done, failed) => {
        const script = this.inner.document.createElement("script")
        Object.assign(script, { src: new URL(url, location.href).href, onload: done, onerror: failed })
        this.inner.document.body.append(script)
      })
    }

    postMessage(data) {
      if (this.ready) this.inner.dispatchEvent(new MessageEvent("message", { data }))
      else this.waiting.push(data)
    }

    terminate() {
      this.inner.frameElement?.remove()
    }
  }
