import { decodeEntities, formatAddress, parseAddress } from '@postern/core'

/**
 * Passages that are not the agent's own words: a link already leads somewhere, code stays literal, and a quote is
 * another's text.
 */
const closed: ReadonlySet<string> = new Set(['a', 'code', 'pre', 'blockquote'])
/** A name: `@user@host`, the host in any script. */
const name = String.raw`(?<![\p{L}\p{N}_@/.+-])@[\w.-]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}.-]{0,251}[\p{L}\p{M}\p{N}])?`
/** A tag as Mastodon reads it (`Tag::HASHTAG_RE`): letters and digits of any script, one of them a letter at least. */
const tag = String.raw`(?<![\p{L}\p{M}\p{N}_=/)#&])#[\p{L}\p{M}\p{N}_\u00b7\u30fb\u200c]{1,200}(?![\p{L}\p{M}\p{N}_])`
/** Patterns that the others must not match within: addresses, and character references. */
const passed = String.raw`(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\/\/[^\s<>]+|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8});`
const wordPattern = new RegExp(`${passed}|(?<name>${name})|(?<tag>${tag})`, 'giu')

/** How what is found is written; undefined: it stays text. */
interface InlineWriters {
  name(address: string): string | undefined
  tag(label: string): string | undefined
}

/** Own HTML, in which names (`@user@host`, A-labels, lower case) and tags (without `#`) are written otherwise. Pure. */
export function mapWords(html: string, writers: InlineWriters): string {
  if (!/[@#]/.test(html)) return html
  return mapText(html, text =>
    text.replace(wordPattern, (found, ...rest) => {
      const groups = rest.at(-1) as { readonly name?: string; readonly tag?: string }
      if (groups.name) return writeName(groups.name, writers)
      return groups.tag ? writeTag(groups.tag, writers) : found
    }),
  )
}

function writeName(found: string, writers: InlineWriters): string {
  const address = normalizeName(found)
  return (address && writers.name(address)) ?? found
}

/** Separators at its end belong to the sentence; a tag of digits is a number. */
function writeTag(found: string, writers: InlineWriters): string {
  const label = found.slice(1).replace(/[\u00b7\u30fb\u200c]+$/u, '')
  if (!/[\p{L}\p{M}]/u.test(label)) return found
  const written = writers.tag(label)
  return written === undefined ? found : written + found.slice(1 + label.length)
}

/** One spelling for each address; undefined when it is none. */
export function normalizeName(text: string): string | undefined {
  try {
    return formatAddress(parseAddress(decodeEntities(text)))
  } catch {
    return undefined
  }
}

/** Own HTML: tags are complete, and close in order. */
function mapText(html: string, map: (text: string) => string): string {
  let depth = 0
  return html
    .split(/(<[^>]*>)/)
    .map((piece, at) => {
      if (at % 2 === 0) return depth === 0 ? map(piece) : piece
      const [, slash, element = ''] = /^<(\/?)([a-z0-9]+)/i.exec(piece) ?? []
      if (closed.has(element.toLowerCase())) depth += slash ? -1 : 1
      return piece
    })
    .join('')
}
