import type { NormalizedMessage, TextPart } from '@postern/core'

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#39': "'",
  nbsp: ' ',
}

/** The sender's text as plain text: the plain version if there is one, else the HTML without its tags. */
export function readReceivedText({ parts }: Pick<NormalizedMessage, 'parts'>): string {
  const texts = parts.filter(part => part.kind === 'text')
  const plain = texts.filter(part => part.mime !== 'text/html')
  return (plain.length > 0 ? plain : texts).map(toPlainText).join('\n\n').trim()
}

function toPlainText({ mime, content }: TextPart): string {
  return mime === 'text/html' ? stripTags(content) : content
}

// `[^<>]` and not `[^>]`: a run of "<" without an end must not cost quadratic time.
function stripTags(html: string): string {
  return html
    .replace(/<(?:br|\/p|\/div|\/li|\/blockquote)\b[^<>]*>/gi, '\n')
    .replace(/<[^<>]*>/g, '')
    .replace(/&(#?\w{1,8});/g, (whole, name: string) => entities[name] ?? whole)
    .replace(/\n{3,}/g, '\n\n')
}
