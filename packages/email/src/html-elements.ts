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
export const hidingAttributes = /\shidden(?=[\s=/>]|$)/i
/** Of a `style` attribute or a rule of a style sheet. */
export const hidingDeclarations =
  /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])|opacity\s*:\s*0(?![.\d]*[1-9])|mso-hide\s*:\s*all/i
/** Colours an element gives its text and its ground. */
const colours = /(?:^|[;"'\s])(background(?:-color)?|color)\s*:\s*(#?\w+)/gi
export const classNames = /\sclass\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i
/** What mail programs put around the message that is answered. */
const quotingClass =
  /(?:^|\s)(?:gmail_quote|gmail_quote_container|gmail_extra|yahoo_quoted|moz-cite-prefix|protonmail_quote)(?:\s|$)/i
const citing = /\stype\s*=\s*["']?cite\b/i
/** Behind this Outlook quotes, to the end. */
export const quotingMarks = /\sid\s*=\s*["']?(?:appendonsend|divRplyFwdMsg|x_divRplyFwdMsg)\b/i

/** Is the text of this element in the colour of its own ground? */
export function hidesInColour(tag: string): boolean {
  if (!/background/i.test(tag)) return false
  const found = [...tag.matchAll(colours)].map(([, name = '', value = '']) => [name.toLowerCase(), value.toLowerCase()])
  const text = found.find(([name]) => name === 'color')?.[1]
  return text !== undefined && found.some(([name, value]) => name !== 'color' && value === text)
}

/** Does this element hold the message that is answered? */
export function quotesMessage(tag: string): boolean {
  const names = classNames.exec(tag)
  return quotingClass.test(names?.[1] ?? names?.[2] ?? names?.[3] ?? '') || citing.test(tag)
}
