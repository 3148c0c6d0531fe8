//! LSP framing, read strictly: anything on the server's standard output that is no frame is garbage.

use std::io::BufRead;

use serde_json::Value;

/// One thing read from the server.
pub enum Frame {
    Message(Value),
    Garbage(String),
    End,
}

pub fn frame(message: &Value) -> Vec<u8> {
    bytes_frame(message.to_string().as_bytes())
}

pub fn bytes_frame(body: &[u8]) -> Vec<u8> {
    let mut out = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    out.extend_from_slice(body);
    out
}

pub fn read(from: &mut impl BufRead) -> Frame {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        match from.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return Frame::End,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        match text.trim_end_matches("\r\n") {
            "" => break,
            header => match header.split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse::<usize>().ok(),
                Some(("Content-Type", _)) => {}
                _ => return Frame::Garbage(text.into_owned()),
            },
        }
    }
    let Some(length) = length else {
        return Frame::Garbage("a header without a length".to_owned());
    };
    let mut body = vec![0; length];
    if from.read_exact(&mut body).is_err() {
        return Frame::Garbage(format!("the output ended inside a frame of {length} bytes"));
    }
    match serde_json::from_slice(&body) {
        Ok(message) => Frame::Message(message),
        Err(e) => Frame::Garbage(format!("{e}: {}", String::from_utf8_lossy(&body))),
    }
}
