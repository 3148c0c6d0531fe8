// One terminal on a card: what its program prints and, while it waits for a password, the field for
// it. What is typed into that field leaves it once, for the server, and is kept nowhere.

import type { TerminalView } from '../view';
import { button, h } from './dom';
import { icon } from './icons';

export interface TerminalActions {
  copy: (text: string) => void;
  typeLine: (terminalId: string, line: string) => void;
  showAll: (terminalId: string) => void;
  stopProgram: (terminalId: string) => void;
  toBackground: (terminalId: string) => void;
  password: (terminalId: string, password: string) => void;
}

let counter = 0;

/** One terminal; the same element is used wherever it is shown last. */
export class TerminalElement {
  private readonly text = document.createTextNode('');
  private readonly command = h('code');
  private readonly unnamed = h('span', { class: 'quiet' }, 'Output');
  private readonly state = h('span');
  private readonly foot = h('div', { class: 'terminal-foot' }, this.state);
  private readonly stop: HTMLButtonElement;
  private readonly background: HTMLButtonElement;
  private readonly cut = h('div', { class: 'terminal-cut quiet' }, 'Earlier output is not shown.');
  private readonly typing = h('div', { class: 'typing' });
  private readonly line = h('input', { class: 'feedback', type: 'text', autocomplete: 'off', spellcheck: 'false', 'aria-label': 'Type into the program' });
  private readonly output = h('pre', { class: 'output', tabindex: '0', 'aria-label': 'Output' }, this.text);
  private readonly password: PasswordForm;
  readonly element = h('div', { class: 'terminal' });

  constructor(view: TerminalView, actions: TerminalActions) {
    this.password = new PasswordForm(password => actions.password(view.id, password));
    this.stop = button({ label: 'Stop', icon: icon('stop') }, () => actions.stopProgram(view.id));
    this.background = button({ label: 'To background', icon: icon('background'), title: 'The agent goes on; the command runs as a job' }, () => actions.toBackground(view.id));
    this.foot.append(this.stop, this.background);
    this.cut.append(button({ label: 'Show all', class: 'link', title: 'Open all that was printed in an editor tab' }, () => actions.showAll(view.id)));
    this.line.placeholder = 'Type into the program';
    const send = (): void => {
      actions.typeLine(view.id, this.line.value);
      this.line.value = '';
    };
    this.typing.append(this.line, button({ label: 'Send line', icon: icon('send'), iconOnly: 'iconOnly', title: 'Send the line (Enter)' }, send));
    this.line.addEventListener('keydown', event => {
      if (!event.isTrusted || event.isComposing) return;
      if (event.key === 'Enter') send();
      else if (event.key === 'Escape') this.line.value = '';
      else return;
      // Escape would stop the turn.
      event.preventDefault();
      event.stopPropagation();
    });
    this.element.append(
      h('div', { class: 'terminal-head' }, icon('terminal'), this.command, this.unnamed, button({ label: 'Copy output', icon: icon('copy'), iconOnly: 'iconOnly' }, () => actions.copy(this.text.data))),
      this.cut,
      this.output,
      this.foot,
      this.typing,
      this.password.element,
    );
    this.set(view);
  }

  set(view: TerminalView): void {
    this.command.textContent = view.command;
    this.command.title = view.cwd;
    this.command.hidden = view.command === '';
    this.unnamed.hidden = view.command !== '';
    this.update(view.text, view.cut);
    this.password.set(view.secret);
    this.state.textContent = view.exit ?? (view.role === 'job' ? 'running in the background' : 'running');
    const focused = document.activeElement;
    this.stop.hidden = view.exit !== undefined;
    this.background.hidden = view.exit !== undefined || view.role !== 'command';
    // What is typed here is seen; a password has a field of its own.
    const typable = view.exit === undefined && view.role === 'program' && view.secret === undefined;
    if (!typable) this.line.value = '';
    this.typing.hidden = !typable;
    // A button that goes away under the keys leaves them on the output.
    if ((focused === this.stop && this.stop.hidden) || (focused === this.background && this.background.hidden)) this.output.focus({ preventScroll: true });
    this.foot.className = `terminal-foot ${view.exit === undefined || view.exit === 'exit code 0' ? '' : 'failed'}`;
  }

  /** Puts the keys on the field of the password; returns whether one is wanted. */
  focusPassword(): boolean {
    return this.password.focus();
  }

  append(text: string): void {
    this.update(this.text.data + text, !this.cut.hidden);
  }

  private update(text: string, cut: boolean): void {
    const atEnd = this.output.scrollHeight - this.output.scrollTop - this.output.clientHeight < 20;
    this.text.data = text;
    this.cut.hidden = !cut;
    this.output.hidden = text === '';
    if (atEnd) this.output.scrollTop = this.output.scrollHeight;
  }
}

/** Asks for a password: Enter sends it, Escape takes back what was typed and puts the field away. */
class PasswordForm {
  private readonly label = h('label', {});
  private readonly field = h('input', { class: 'feedback', type: 'password', autocomplete: 'off', spellcheck: 'false' });
  private readonly form = h('div', { class: 'password-form' });
  private readonly reopen = button({ label: 'Type the password…', icon: icon('key'), class: 'secondary' }, () => this.open());
  private asked: string | undefined;
  readonly element = h('div', { class: 'password', role: 'group', 'aria-label': 'Password' });

  constructor(private readonly give: (password: string) => void) {
    counter += 1;
    this.field.id = `password-${counter}`;
    this.label.htmlFor = this.field.id;
    const note = h('p', { class: 'quiet', id: `password-note-${counter}` }, 'Goes to the program alone. The agent does not see it, and it is kept nowhere.');
    this.field.setAttribute('aria-describedby', note.id);
    this.form.append(
      h('div', { class: 'password-prompt' }, icon('key'), this.label),
      h('div', { class: 'row' }, this.field, button({ label: 'Send', class: 'primary' }, () => this.send()), button({ label: 'Not now', class: 'secondary', title: 'Not now (Escape)' }, () => this.putAway())),
      note,
    );
    this.element.append(this.form, this.reopen);
    this.field.addEventListener('keydown', event => {
      if (!event.isTrusted || event.isComposing) return;
      if (event.key === 'Enter') this.send();
      else if (event.key === 'Escape') this.putAway();
      else return;
      // Escape would stop the turn.
      event.preventDefault();
      event.stopPropagation();
    });
    this.element.hidden = true;
  }

  set(prompt: string | undefined): void {
    if (this.asked === prompt) return;
    this.asked = prompt;
    this.field.value = '';
    this.label.textContent = prompt ?? '';
    this.element.hidden = prompt === undefined;
    this.form.hidden = false;
    this.reopen.hidden = true;
  }

  focus(): boolean {
    if (this.asked === undefined) return false;
    this.open();
    return true;
  }

  private open(): void {
    this.form.hidden = false;
    this.reopen.hidden = true;
    this.field.focus();
  }

  private putAway(): void {
    this.field.value = '';
    this.form.hidden = true;
    this.reopen.hidden = false;
    this.reopen.focus();
  }

  private send(): void {
    const password = this.field.value;
    this.field.value = '';
    this.give(password);
  }
}
