/** Their content is never text. */
export const silentElements: ReadonlySet<string> = new Set([
  'script',
  'style',
  'head',
  'title',
  'template',
  'noscript',
  'svg',
  'object',
  'select',
])
/** Line ends around a block; between two of them the larger counts. */
export const blockElements: Readonly<Record<string, number>> = {
  p: 2,
  div: 1,
  tr: 1,
  li: 1,
  ul: 1,
  ol: 1,
  table: 1,
  hr: 1,
  blockquote: 2,
  pre: 1,
  h1: 2,
  h2: 2,
  h3: 2,
  h4: 2,
  h5: 2,
  h6: 2,
}
/** What an element puts before its text. */
export const elementMarks: Readonly<Record<string, string>> = { li: '- ', td: ' ', th: ' ', hr: '---' }
export const voidElements: ReadonlySet<string> = new Set([
  'br',
  'hr',
  'img',
  'input',
  'meta',
  'link',
  'area',
  'base',
  'col',
  'embed',
  'source',
  'wbr',
])
export const hidingAttributes =
  /\shidden(?=[\s=/>]|$)|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])|opacity\s*:\s*0(?![.\d]*[1-9])|mso-hide\s*:\s*all/i
/** Text in the colour of its own ground; the other order of the two is as common. */
export const hidingColours =
  /(?:^|[;"'\s])color\s*:\s*(#?\w+)\b[^"'>]*\bbackground(?:-color)?\s*:\s*\1\b|background(?:-color)?\s*:\s*(#?\w+)\b[^"'>]*[;"'\s]color\s*:\s*\2\b/i
/** What mail programs put around the message that is answered. */
export const quotingAttributes =
  /\sclass\s*=\s*["']?[^"'>]*\b(?:gmail_quote|gmail_extra|yahoo_quoted|moz-cite-prefix|protonmail_quote)\b|\stype\s*=\s*["']?cite\b/i
/** Behind this Outlook quotes, to the end. */
export const quotingMarks = /\sid\s*=\s*["']?(?:appendonsend|divRplyFwdMsg|x_divRplyFwdMsg)\b/i
