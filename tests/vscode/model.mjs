// A model endpoint that plays a script: OpenAI chat completions, streamed. Requests that offer no
// tools (a title, a summary) take no step.
import { once } from 'node:events';
import { createServer } from 'node:http';

const pieces = text => text.match(/[\s\S]{1,7}/g) ?? [];

export class Model {
  script = [];
  requests = [];

  static async start() {
    const model = new Model();
    model.server = createServer((request, response) => void model.answer(request, response).catch(error => response.destroy(error)));
    model.server.listen(0, '127.0.0.1');
    await once(model.server, 'listening');
    model.url = `http://127.0.0.1:${model.server.address().port}/v1`;
    return model;
  }

  /** The person's settings that lead to this model. */
  get settings() {
    return {
      'copydesk.model': 'mock/test',
      'copydesk.providers': { mock: { protocol: 'openai', base_url: this.url, api_key: 'test' } },
      'copydesk.models': { 'mock/test': { dialect: 'claude', context_window: 200_000 } },
    };
  }

  play(steps) {
    this.script = [...steps];
    this.requests = [];
  }

  async close() {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  async answer(request, response) {
    let raw = '';
    for await (const data of request) raw += data;
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'test', object: 'model' }] }));
      return;
    }
    const body = JSON.parse(raw);
    let step = { text: 'A short text.' };
    if (body.tools?.length) {
      this.requests.push(body);
      step = this.script.shift() ?? { text: 'done' };
    }
    const n = this.requests.length;
    const base = { id: `chatcmpl-${n}`, object: 'chat.completion.chunk', created: 1, model: 'test' };
    const calls = (step.calls ?? []).map(({ name, input }, index) => ({ index, id: `call_${n}_${index}`, type: 'function', function: { name, arguments: JSON.stringify(input) } }));
    const finish = calls.length ? 'tool_calls' : 'stop';
    const usage = { prompt_tokens: Math.ceil(raw.length / 4), completion_tokens: 10, total_tokens: Math.ceil(raw.length / 4) + 10 };
    if (!body.stream) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ ...base, object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant', content: step.text ?? null, ...(calls.length ? { tool_calls: calls } : {}) }, finish_reason: finish }], usage }));
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    const send = data => response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
    const chunk = (delta, finish_reason = null) => send({ ...base, choices: [{ index: 0, delta, finish_reason }] });
    chunk({ role: 'assistant', content: '' });
    for (const content of pieces(step.text ?? '')) chunk({ content });
    for (const call of calls) {
      chunk({ tool_calls: [{ ...call, function: { name: call.function.name, arguments: '' } }] });
      for (const part of pieces(call.function.arguments)) chunk({ tool_calls: [{ index: call.index, function: { arguments: part } }] });
    }
    chunk({}, finish);
    send({ ...base, choices: [], usage });
    send('[DONE]');
    response.end();
  }

  /** Every text the model was given as a tool result. */
  toolResults() {
    return this.requests.flatMap(body => body.messages.filter(m => m.role === 'tool').map(m => (typeof m.content === 'string' ? m.content : m.content.map(part => part.text ?? '').join(''))));
  }
}
