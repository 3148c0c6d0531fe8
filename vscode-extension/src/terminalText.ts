// Terminal bytes to readable text: escape sequences removed, carriage returns applied, what would
// hide or reorder text made visible.

const STRING_SEQUENCE = /\u001b[\]PX^_][\s\S]*?(?:\u0007|\u001b\\)/g;
const CONTROL_SEQUENCE = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[ -/]*[0-OQ-WYZ\\`-~]/g;
const UNFINISHED = /\u001b(?:\[[0-?]*[ -/]*|[\]PX^_][^\u0007\u001b]{0,4096}\u001b?)?$/;
/** A character and the backspace that takes it back. */
const ERASED = /[^\u0008]\u0008/;
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Shows control and direction characters as `⟨U+202E⟩`, so that text reads as it runs. */
export function visible(text: string): string {
  return text.replace(HIDDEN, c => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

/** Turns the byte chunks of one terminal into text, whatever the cuts between them. */
export class TerminalDecoder {
  private readonly utf8 = new TextDecoder('utf-8');
  private held = '';

  /** The readable text of the next chunk; a lone `\r` stays, `overwrite` applies it. */
  decode(base64: string): string {
    let text = this.held + this.utf8.decode(Buffer.from(base64, 'base64'), { stream: true });
    text = text.replace(STRING_SEQUENCE, '').replace(CONTROL_SEQUENCE, '');
    const cut = text.search(UNFINISHED);
    this.held = '';
    if (cut >= 0) {
      this.held = text.slice(cut);
      text = text.slice(0, cut);
    }
    if (text.endsWith('\r')) {
      this.held = '\r' + this.held;
      text = text.slice(0, -1);
    }
    return text.replace(/\r\n/g, '\n');
  }
}

/** Applies carriage returns and backspaces line by line, as a terminal would show them. */
export function overwrite(text: string): string {
  if (!text.includes('\r') && !text.includes('\b')) return visible(text);
  return visible(
    text
      .split('\n')
      .map(line => {
        let shown = '';
        for (const part of line.split('\r')) {
          let at = part;
          while (ERASED.test(at)) at = at.replace(ERASED, '');
          at = at.replaceAll('\b', '');
          shown = at + shown.slice(at.length);
        }
        return shown;
      })
      .join('\n'),
  );
}
