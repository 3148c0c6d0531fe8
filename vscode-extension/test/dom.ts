// A document for the renderer. Import it before anything of the webview.

import { Window } from 'happy-dom';

const window = new Window();
const frames: (() => void)[] = [];
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
  requestAnimationFrame: (act: () => void) => frames.push(act),
  cancelAnimationFrame: (id: number) => frames.splice(id - 1, 1, () => undefined),
});

/** Lets the frame come that was asked for. */
export function nextFrame(): void {
  for (const act of frames.splice(0)) act();
}
