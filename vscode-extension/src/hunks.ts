// Pending hunks drawn in the text editors: lines that came, a mark where lines went, the words of
// a conflict, and the lenses to decide. Only visible editors are drawn, and only what the server
// told for the version they show; between two tellings the editor moves the marks itself.

import * as vscode from 'vscode';
import type { Server } from './client';
import type { Hunk, ReviewFile } from './protocol';
import { type Review, hunkCount, lineCount } from './review';

/** Lines of removed text that a hover shows. */
const HOVER_LINES = 40;

const SELECTOR = [{ scheme: 'file' }, { scheme: 'untitled' }, { scheme: 'vscode-notebook-cell' }];

/** Where a hunk is in a document, as whole lines; empty where it only removed text. */
export function rangeOf(hunk: Hunk): vscode.Range {
  const { start, end } = hunk.range;
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

/** Whether a line belongs to a hunk; a removal belongs to the line it was before. */
export function isAt(hunk: Hunk, line: number): boolean {
  const { start, end } = hunk.range;
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  return start.line <= line && line <= last;
}

class Drawing {
  private readonly added = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('diffEditor.insertedLineBackground'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.addedForeground'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  private readonly removed = vscode.window.createTextEditorDecorationType({
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.deletedForeground'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    after: { color: new vscode.ThemeColor('editorCodeLens.foreground'), margin: '0 0 0 2em', fontStyle: 'italic' },
  });
  /** High-contrast themes have no backgrounds; they get a border. */
  private readonly outlined = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    borderColor: new vscode.ThemeColor('contrastBorder'),
    borderStyle: 'dotted',
    borderWidth: '1px',
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.addedForeground'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });

  constructor(private readonly review: Review) {}

  draw(editor: vscode.TextEditor): void {
    const { document } = editor;
    const file = this.review.file(document.uri);
    // An older telling: the marks there are move with the text until the next one comes.
    if (file && file.version !== undefined && file.version !== null && file.version !== document.version) return;
    const contrast = vscode.window.activeColorTheme.kind === vscode.ColorThemeKind.HighContrast || vscode.window.activeColorTheme.kind === vscode.ColorThemeKind.HighContrastLight;
    const came: vscode.DecorationOptions[] = [];
    const went: vscode.DecorationOptions[] = [];
    for (const hunk of file?.hunks ?? []) {
      const hoverMessage = hover(file, hunk);
      const lines = linesOf(document, hunk);
      if (lines) came.push({ range: lines, hoverMessage });
      const line = document.lineAt(Math.min(hunk.range.start.line, document.lineCount - 1));
      const note = words(file, hunk, line.lineNumber === document.lineCount - 1 && line.isEmptyOrWhitespace ? 'at the end' : 'above');
      if (note !== '') {
        went.push({ range: new vscode.Range(line.range.end, line.range.end), hoverMessage, renderOptions: { after: { contentText: note } } });
      }
    }
    editor.setDecorations(this.added, contrast ? [] : came);
    editor.setDecorations(this.outlined, contrast ? came : []);
    editor.setDecorations(this.removed, went);
  }

  dispose(): void {
    for (const type of [this.added, this.removed, this.outlined]) type.dispose();
  }
}

/** The lines with text of the agent's; none where a hunk only removed. */
function linesOf(document: vscode.TextDocument, hunk: Hunk): vscode.Range | undefined {
  if (hunk.newText === '') return undefined;
  const range = document.validateRange(rangeOf(hunk));
  const last = range.end.character === 0 && range.end.line > range.start.line ? range.end.line - 1 : range.end.line;
  return new vscode.Range(range.start.line, 0, last, document.lineAt(last).text.length);
}

/** The name a file had, where the hunk is its move: one without text. */
function movedFrom(file: ReviewFile | undefined, hunk: Hunk): string | undefined {
  const uri = hunk.oldText === '' && hunk.newText === '' ? file?.oldUri : undefined;
  return uri ? vscode.workspace.asRelativePath(vscode.Uri.parse(uri, true)) : undefined;
}

function words(file: ReviewFile | undefined, hunk: Hunk, where: string): string {
  const removed = lineCount(hunk.oldText);
  const parts = [];
  const from = movedFrom(file, hunk);
  if (from !== undefined) parts.push(`moved from ${from}`);
  else if (hunk.newText === '') parts.push(`${removed === 1 ? '1 line' : `${removed} lines`} removed ${where}`);
  if (hunk.state === 'conflict') parts.push('you wrote inside this change');
  return parts.join(' · ');
}

function hover(file: ReviewFile | undefined, hunk: Hunk): vscode.MarkdownString {
  const markdown = new vscode.MarkdownString();
  const from = movedFrom(file, hunk);
  if (from !== undefined) {
    markdown.appendText(`Moved by the agent from ${from}`);
    return markdown;
  }
  if (hunk.oldText === '') {
    markdown.appendText('Added by the agent');
    return markdown;
  }
  markdown.appendText(hunk.newText === '' ? 'Removed by the agent:' : 'Before the change:');
  const lines = hunk.oldText.split('\n');
  const more = lines.length > HOVER_LINES ? `\n… ${lines.length - HOVER_LINES} more lines` : '';
  markdown.appendCodeblock(lines.slice(0, HOVER_LINES).join('\n') + more, 'text');
  return markdown;
}

class Lenses implements vscode.CodeLensProvider {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.changed.event;

  constructor(private readonly review: Review) {}

  refresh(): void {
    this.changed.fire();
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const hunks = this.review.hunks(document.uri);
    return hunks.flatMap((hunk, index) => {
      const line = Math.min(hunk.range.start.line, document.lineCount - 1);
      const at = new vscode.Range(line, 0, line, 0);
      const lens = (title: string, command: string, tooltip: string): vscode.CodeLens => new vscode.CodeLens(at, { title, command, tooltip, arguments: [{ hunkId: hunk.hunkId }] });
      const place = hunks.length > 1 ? ` (${index + 1} of ${hunks.length})` : '';
      return [lens('$(check) Accept', 'copydesk.acceptHunk', `Keep this change${place}`), lens('$(discard) Reject', 'copydesk.rejectHunk', `Bring the text before back${place}`), lens('$(diff) Compare', 'copydesk.compare', 'Show the file beside its text before the changes')];
    });
  }
}

export function activate(context: vscode.ExtensionContext, server: Server, review: Review): void {
  const drawing = new Drawing(review);
  const lenses = new Lenses(review);
  const drawAll = (): void => {
    for (const editor of vscode.window.visibleTextEditors) drawing.draw(editor);
  };
  const here = (): void => {
    const editor = vscode.window.activeTextEditor;
    const file = editor && review.file(editor.document.uri);
    void vscode.commands.executeCommand('setContext', 'copydesk.hunksInEditor', file !== undefined && hunkCount(file) > 0);
  };
  context.subscriptions.push(
    drawing,
    review.onDidChange(uris => {
      const touched = new Set(uris.map(uri => uri.toString()));
      for (const editor of vscode.window.visibleTextEditors) {
        if (touched.has(editor.document.uri.toString())) drawing.draw(editor);
      }
      lenses.refresh();
      here();
    }),
    vscode.window.onDidChangeVisibleTextEditors(() => {
      if (server.running) drawAll();
    }),
    vscode.window.onDidChangeActiveTextEditor(here),
    vscode.window.onDidChangeActiveColorTheme(drawAll),
    vscode.languages.registerCodeLensProvider(SELECTOR, lenses),
  );
}
