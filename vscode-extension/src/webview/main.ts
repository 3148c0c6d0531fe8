// Entry of the webview bundle.

import type { FromWebview, ToWebview } from '../view';
import { Panel } from './panel';

interface Host {
  postMessage: (message: FromWebview) => void;
}

declare function acquireVsCodeApi(): Host;

const host = acquireVsCodeApi();
const panel = new Panel(message => host.postMessage(message));
document.body.append(panel.element);
window.addEventListener('message', (event: MessageEvent<ToWebview>) => panel.receive(event.data));
host.postMessage({ type: 'ready' });
