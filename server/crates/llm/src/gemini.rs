//! Gemini generateContent, streamed.
//!
//! Calls have no ids here: results answer in order. A signature stands on the call or text it belongs to; it travels as
//! a hidden thought before that part, because newer models refuse a conversation without it.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::history::{self, Medium, Turn};
use crate::wire::{
    Decoder, Fault, Host, Progress, Wire, parse, refusal, wire_arguments, wire_name,
};
use crate::{Event, Part, Reasoning, Request, Role, Stop, Usage};

pub(crate) struct Gemini;

/// Marks thoughts that hold nothing but a signature.
const SIGNATURE: &str = "gemini_signature";

impl Wire for Gemini {
    fn path(&self, model: &str) -> String {
        let model = model.strip_prefix("models/").unwrap_or(model);
        format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
    }

    fn models_path(&self) -> &'static str {
        "/v1beta/models?pageSize=1000"
    }

    fn surplus(&self) -> &'static [&'static str] {
        &["/models", "/v1beta"]
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("x-goog-api-key", key.to_owned())
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    fn body(&self, request: &Request, _host: Host) -> Value {
        let turns = history::turns(&request.messages);
        let contents: Vec<Value> = turns.iter().map(|turn| content(turn, &request.model)).collect();
        let mut body = json!({ "contents": contents });
        if !request.system.trim().is_empty() {
            body["systemInstruction"] = json!({ "parts": [{ "text": request.system }] });
        }
        if !request.tools.is_empty() {
            let functions: Vec<Value> = request
                .tools
                .iter()
                .map(|tool| {
                    json!({
                        "name": tool.name,
                        "description": tool.description,
                        "parametersJsonSchema": tool.input_schema,
                    })
                })
                .collect();
            body["tools"] = json!([{ "functionDeclarations": functions }]);
        }
        let mut config = Map::new();
        if let Some(limit) = request.max_output {
            config.insert("maxOutputTokens".to_owned(), json!(limit));
        }
        if let Some(reasoning) = request.reasoning {
            config.insert("thinkingConfig".to_owned(), thinking(&request.model, reasoning));
        }
        if !config.is_empty() {
            body["generationConfig"] = Value::Object(config);
        }
        body
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Answer::default())
    }

    fn model_names(&self, list: &Value) -> Vec<String> {
        let models = list["models"].as_array().into_iter().flatten();
        let answering =
            models.filter(|model| match model["supportedGenerationMethods"].as_array() {
                Some(methods) => methods.iter().any(|method| method == "generateContent"),
                None => true,
            });
        let names = answering.filter_map(|model| model["name"].as_str());
        names.map(|name| name.strip_prefix("models/").unwrap_or(name).to_owned()).collect()
    }
}

fn thinking(model: &str, reasoning: Reasoning) -> Value {
    if model.contains("gemini-2") {
        let budget = match reasoning {
            Reasoning::Low => 2_048,
            Reasoning::Medium => 8_192,
            Reasoning::High => 24_576,
        };
        json!({ "includeThoughts": true, "thinkingBudget": budget })
    } else {
        json!({ "includeThoughts": true, "thinkingLevel": reasoning.word() })
    }
}

fn content(turn: &Turn<'_>, model: &str) -> Value {
    let mut parts: Vec<Value> = Vec::new();
    let mut signature: Option<Value> = None;
    let mut first_call = true;
    for part in &turn.parts {
        let mut part = match part.as_ref() {
            Part::Text { text } => json!({ "text": text }),
            Part::Thought { opaque: Some(opaque), .. } if opaque["type"] == SIGNATURE => {
                signature = Some(opaque["signature"].clone());
                continue;
            }
            Part::Image { media_type, data } => {
                json!({ "inlineData": { "mimeType": media_type, "data": data } })
            }
            Part::ToolCall { name, arguments, .. } => {
                if std::mem::take(&mut first_call)
                    && signature.is_none()
                    && model.contains("gemini-3")
                {
                    // The documented stand-in for calls another model made.
                    signature = Some(json!("skip_thought_signature_validator"));
                }
                json!({ "functionCall": { "name": wire_name(name), "args": wire_arguments(arguments) } })
            }
            Part::ToolResult { name, content, is_error, .. } => {
                let key = if *is_error { "error" } else { "output" };
                let response = json!({ key: history::text_of(content) });
                parts.push(json!({ "functionResponse": { "name": wire_name(name), "response": response } }));
                continue;
            }
            Part::Thought { .. } => continue,
        };
        if let Some(signature) = signature.take() {
            part["thoughtSignature"] = signature;
        }
        parts.push(part);
    }
    // Results hold text only; their images and videos follow all of them.
    for part in &turn.parts {
        if let Part::ToolResult { name, content, .. } = part.as_ref() {
            for medium in history::media_of(content) {
                let (what, media_type, data) = match medium {
                    Medium::Image { media_type, data } => ("Image", media_type, data),
                    Medium::Video { media_type, data } => ("Video", media_type, data),
                };
                parts.push(json!({ "text": format!("{what} from {name}:") }));
                parts.push(json!({ "inlineData": { "mimeType": media_type, "data": data } }));
            }
        }
    }
    if parts.is_empty() {
        parts.push(json!({ "text": "…" }));
    }
    let role = match turn.role {
        Role::User => "user",
        Role::Assistant => "model",
    };
    json!({ "role": role, "parts": parts })
}

#[derive(Default)]
struct Answer {
    calls: usize,
    thinking: bool,
    stop: Option<Stop>,
}

impl Decoder for Answer {
    fn event(&mut self, data: &[u8], out: &mut VecDeque<Event>) -> Result<Progress, Fault> {
        let mut spare = String::new();
        self.chunk(&parse(data, &mut spare)?, out)?;
        Ok(Progress::More)
    }

    fn whole(&mut self, body: Value, out: &mut VecDeque<Event>) -> Result<(), Fault> {
        match &body {
            Value::Array(chunks) => chunks.iter().try_for_each(|chunk| self.chunk(chunk, out))?,
            chunk => self.chunk(chunk, out)?,
        }
        self.stop.get_or_insert(Stop::EndTurn);
        self.end(out);
        Ok(())
    }

    fn end(&mut self, out: &mut VecDeque<Event>) -> Progress {
        let Some(stop) = self.stop.take() else { return Progress::More };
        self.thought_over(out);
        out.push_back(Event::Stop(if stop == Stop::EndTurn && self.calls > 0 {
            Stop::ToolUse
        } else {
            stop
        }));
        Progress::Done
    }
}

impl Answer {
    fn chunk(&mut self, chunk: &Value, out: &mut VecDeque<Event>) -> Result<(), Fault> {
        if let Some(fault) = refusal(chunk) {
            return Err(fault);
        }
        let candidate = &chunk["candidates"][0];
        let usage = &chunk["usageMetadata"];
        if let Some(blocked) = chunk["promptFeedback"]["blockReason"].as_str() {
            let line = format!(
                "the prompt was blocked ({})",
                blocked.chars().take(100).collect::<String>()
            );
            out.push_back(Event::Notice(line));
            self.stop = Some(Stop::Refusal);
        } else if candidate.is_null() && usage.is_null() {
            return Err(Fault::Garbage("an event without candidates".to_owned()));
        }
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.part(part, out);
        }
        if usage.is_object() {
            let count = |key: &str| usage[key].as_u64().unwrap_or(0);
            let cached = count("cachedContentTokenCount");
            out.push_back(Event::Usage(Usage {
                input: count("promptTokenCount").saturating_sub(cached),
                output: count("candidatesTokenCount") + count("thoughtsTokenCount"),
                cached_read: cached,
                cached_write: 0,
            }));
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.stop = Some(stop(reason));
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, out: &mut VecDeque<Event>) {
        let text = part["text"].as_str().unwrap_or_default();
        if part["thought"] == true {
            if !text.is_empty() {
                self.thinking = true;
                out.push_back(Event::Thought(text.to_owned()));
            }
            return;
        }
        let signature = &part["thoughtSignature"];
        let call = &part["functionCall"];
        if call.is_object() || !text.is_empty() || signature.is_string() {
            self.thought_over(out);
        }
        if signature.is_string() {
            let opaque = json!({ "type": SIGNATURE, "signature": signature });
            out.push_back(Event::ThoughtEnd { signature: None, opaque: Some(opaque) });
        }
        if !text.is_empty() {
            out.push_back(Event::Text(text.to_owned()));
        }
        if call.is_object() {
            let index = self.calls;
            self.calls += 1;
            let word = |key: &str| call[key].as_str().unwrap_or_default().to_owned();
            out.push_back(Event::CallStart { index, id: word("id"), name: word("name") });
            let json = match &call["args"] {
                Value::Null => "{}".to_owned(),
                Value::String(text) => text.clone(),
                args => args.to_string(),
            };
            out.push_back(Event::CallDelta { index, json });
            out.push_back(Event::CallEnd { index });
        }
    }

    fn thought_over(&mut self, out: &mut VecDeque<Event>) {
        if std::mem::take(&mut self.thinking) {
            out.push_back(Event::ThoughtEnd { signature: None, opaque: None });
        }
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "STOP" => Stop::EndTurn,
        "MAX_TOKENS" => Stop::MaxTokens,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => Stop::Refusal,
        other => Stop::Other(other.chars().take(100).collect()),
    }
}

#[cfg(test)]
pub(crate) mod tests;
