// A document for the renderer. Import it before anything of the webview.

import { Window } from 'happy-dom';

const window = new Window();
Object.assign(globalThis, {
  window,
  document: window.document,
  DOMParser: window.DOMParser,
  HTMLElement: window.HTMLElement,
  ResizeObserver: class {
    observe(): void {
      // Nothing has a size here.
    }
  },
  requestAnimationFrame: (act: () => void) => {
    act();
    return 0;
  },
});
