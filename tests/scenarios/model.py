#!/usr/bin/env python3
"""Serves a scenario's model.json as an OpenAI chat completions endpoint; README.md beside it says how to use it."""
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

steps = json.load(open(sys.argv[1], encoding="utf-8"))
lock = threading.Lock()


def next_step(body):
    with lock:
        print(json.dumps(body), flush=True)
        if not body.get("tools"):
            return {"text": "A short text."}
        return steps.pop(0) if steps else {"text": "done"}


def chunks(step, number):
    yield {"role": "assistant", "content": ""}, None
    text = step.get("text", "")
    for at in range(0, len(text), 7):
        yield {"content": text[at:at + 7]}, None
    calls = step.get("calls", [])
    for index, call in enumerate(calls):
        function = {"name": call["name"], "arguments": json.dumps(call["input"])}
        yield {"tool_calls": [{"index": index, "id": f"call_{number}_{index}", "type": "function", "function": function}]}, None
    yield {}, "tool_calls" if calls else "stop"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = 0

    def log_message(self, *args):
        pass

    def whole(self, body):
        raw = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self):
        self.whole({"object": "list", "data": [{"id": "test", "object": "model"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        step = next_step(body)
        Handler.count += 1
        base = {"id": f"chatcmpl-{Handler.count}", "created": 1, "model": "test"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        if not body.get("stream"):
            message = {"role": "assistant", "content": step.get("text")}
            self.whole({**base, "object": "chat.completion", "usage": usage,
                        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in chunks(step, Handler.count)]
        events.append({"choices": [], "usage": usage})
        try:
            for event in events:
                data = json.dumps({**base, "object": "chat.completion.chunk", **event})
                self.wfile.write(f"data: {data}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")
        except (BrokenPipeError, ConnectionResetError):
            pass


class Server(ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
os._exit(0)
