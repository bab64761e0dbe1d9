// Recognizes parts that show nothing to a reader.
import type { Part, TextPart } from '../part.ts'

/** Matches a text of only invisible characters. */
const blankPattern = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u

/** Matches character references. HTML and Markdown both have them. */
const reference = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z][a-z\d]{1,31}));/gi
/** The named references of characters that show nothing (HTML §13.5), in lower case. */
const blankReferences: ReadonlySet<string> = new Set([
  ...[
    'nbsp',
    'nonbreakingspace',
    'ensp',
    'emsp',
    'emsp13',
    'emsp14',
    'numsp',
    'puncsp',
    'thinsp',
    'thinspace',
    'hairsp',
  ],
  ...['verythinspace', 'mediumspace', 'thickspace', 'zerowidthspace', 'negativethinspace', 'negativemediumspace'],
  ...['negativethickspace', 'negativeverythinspace', 'nobreak', 'zwj', 'zwnj', 'lrm', 'rlm', 'shy', 'tab', 'newline'],
  ...['af', 'applyfunction', 'ic', 'invisiblecomma', 'it', 'invisibletimes'],
])
/** Matches what HTML never shows. Without its end it matches to the end of the text, so matching takes linear time. */
const hiddenHtml = /<!--[\s\S]*?(?:-->|$)|<(style|script|template|title|head)\b[^<>]*>[\s\S]*?(?:<\/\1\s*>|$)/gi

/** Matches a tag, except of elements that show something without text. A tag ends before the next one begins, so matching takes linear time. */
const plainTag = /<(?!(?:audio|canvas|embed|hr|iframe|img|input|math|object|picture|svg|video)\b)[^<>]*>/gi

/** Returns true if a text part shows nothing to a reader. */
function isBlankText({ mime, content }: TextPart): boolean {
  if (blankPattern.test(content)) return true
  if (mime === 'text/plain') return false
  // Markdown shows elements as text, because every channel escapes them.
  const shown = mime === 'text/html' ? content.replace(hiddenHtml, '').replace(plainTag, '') : content
  return blankPattern.test(shown.replace(reference, readReference))
}

/** Returns the character of a reference, a space for a named one that shows nothing, and the reference itself for any other. */
function readReference(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return blankReferences.has(name.toLowerCase()) ? ' ' : whole
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
  return code <= 0x10ffff ? String.fromCodePoint(code) : whole
}

function isBlank(part: Part): boolean {
  return part.kind === 'text' && isBlankText(part)
}

/** Returns true if parts show nothing: there are none, or all of them are blank text. */
export function showNothing(parts: readonly Part[]): boolean {
  return parts.every(isBlank)
}
