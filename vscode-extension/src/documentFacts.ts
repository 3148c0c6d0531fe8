// Facts of bytes and names: which WHATWG label an editor encoding has, which line endings a file
// holds. Pure.

const LABELS: Record<string, string> = {
  utf8: 'utf-8',
  utf8bom: 'utf-8',
  utf16le: 'utf-16le',
  utf16be: 'utf-16be',
  windows1252: 'windows-1252',
  iso88591: 'iso-8859-1',
  iso88593: 'iso-8859-3',
  iso885915: 'iso-8859-15',
  macroman: 'macintosh',
  cp437: 'ibm437',
  windows1256: 'windows-1256',
  iso88596: 'iso-8859-6',
  windows1257: 'windows-1257',
  iso88594: 'iso-8859-4',
  iso885914: 'iso-8859-14',
  windows1250: 'windows-1250',
  iso88592: 'iso-8859-2',
  cp852: 'ibm852',
  windows1251: 'windows-1251',
  cp866: 'ibm866',
  cp1125: 'ibm1125',
  iso88595: 'iso-8859-5',
  koi8r: 'koi8-r',
  koi8u: 'koi8-u',
  koi8ru: 'koi8-ru',
  koi8t: 'koi8-t',
  iso885913: 'iso-8859-13',
  windows1253: 'windows-1253',
  iso88597: 'iso-8859-7',
  windows1255: 'windows-1255',
  iso88598: 'iso-8859-8',
  iso885910: 'iso-8859-10',
  iso885916: 'iso-8859-16',
  windows1254: 'windows-1254',
  iso88599: 'iso-8859-9',
  windows1258: 'windows-1258',
  gbk: 'gbk',
  gb18030: 'gb18030',
  cp950: 'big5',
  big5hkscs: 'big5',
  shiftjis: 'shift_jis',
  eucjp: 'euc-jp',
  euckr: 'euc-kr',
  windows874: 'windows-874',
  iso885911: 'iso-8859-11',
  gb2312: 'gb2312',
};

/** The WHATWG label of an encoding name of the editor; unknown names pass through. */
export function encodingLabel(name: string): string {
  return LABELS[name] ?? name;
}

/** The line endings of a file's bytes; a file without any counts as `lf`. `wide`: UTF-16. */
export function eolOf(bytes: Uint8Array, wide: boolean): 'lf' | 'crlf' | 'cr' | 'mixed' {
  const kinds = new Set<'lf' | 'crlf' | 'cr'>();
  // In UTF-16 the other byte of a line ending is zero, and zeros do not matter for the order.
  let previous = -1;
  const take = (byte: number): void => {
    if (byte === 0x0a) kinds.add(previous === 0x0d ? 'crlf' : 'lf');
    else if (previous === 0x0d) kinds.add('cr');
    previous = byte;
  };
  for (const byte of bytes) {
    if (wide && byte === 0) continue;
    take(byte);
  }
  if (previous === 0x0d) kinds.add('cr');
  if (kinds.size > 1) return 'mixed';
  return [...kinds][0] ?? 'lf';
}
