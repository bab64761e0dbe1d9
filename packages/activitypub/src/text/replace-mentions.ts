// Finds names and hashtags in the text of HTML, outside of links, code and quotes.
import { formatAddress, parseIfAddress } from '@postern/message'

/**
 * Elements with text that is not the agent's own: a link already leads somewhere, code stays literal, and a quote is
 * the text of others.
 */
const skippedElements: ReadonlySet<string> = new Set(['a', 'code', 'pre', 'blockquote'])

/** A name `@user@host`, with a host in any script. */
const nameSource = String.raw`(?<![\p{L}\p{N}_@/.+-])@[\w.-]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}.-]{0,251}[\p{L}\p{M}\p{N}])?`

/**
 * A hashtag as Mastodon reads it (`Tag::HASHTAG_RE`): letters and digits of any script, at least one of them a letter.
 */
const tagSource = String.raw`(?<![\p{L}\p{M}\p{N}_=/)#&])#[\p{L}\p{M}\p{N}_\u00b7\u30fb\u200c]{1,200}(?![\p{L}\p{M}\p{N}_])`

/** Patterns that contain no names and tags: addresses, and character references. */
const skippedPattern = String.raw`(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\/\/[^\s<>]+|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8});`

const mentionOrHashtagPattern = new RegExp(`${skippedPattern}|(?<name>${nameSource})|(?<tag>${tagSource})`, 'giu')

/** The functions that replace names and tags. If a function returns undefined, the text stays as it is. */
interface InlineReplacements {
  replaceMention(address: string): string | undefined
  replaceHashtag(label: string): string | undefined
}

/** Rewrites the names (`@user@host`, A-labels, lower case) and tags (without `#`) in our own HTML. It is pure. */
export function replaceMentionsAndHashtags(html: string, replacements: InlineReplacements): string {
  if (!/[@#]/.test(html)) return html
  return mapText(html, text =>
    text.replace(mentionOrHashtagPattern, (word, ...match) => {
      const groups = match.at(-1) as { readonly name?: string; readonly tag?: string }
      if (groups.name) return replaceMention(groups.name, replacements)
      return groups.tag ? replaceHashtag(groups.tag, replacements) : word
    }),
  )
}

function replaceMention(name: string, replacements: InlineReplacements): string {
  const address = normalizeAddress(name)
  return (address && replacements.replaceMention(address)) ?? name
}

/** Writes a tag. Separators at its end belong to the sentence, and a tag of digits is a number. */
function replaceHashtag(tag: string, replacements: InlineReplacements): string {
  const hashtagName = tag.slice(1).replace(/[\u00b7\u30fb\u200c]+$/u, '')
  if (!/[\p{L}\p{M}]/u.test(hashtagName)) return tag
  const replacement = replacements.replaceHashtag(hashtagName)
  return replacement === undefined ? tag : replacement + tag.slice(1 + hashtagName.length)
}

/** Returns the normalized spelling of an address, or undefined if the text is not an address. */
export function normalizeAddress(text: string): string | undefined {
  const address = parseIfAddress(text)
  return address && formatAddress(address)
}

/** Maps the text of our own HTML, which has complete tags that close in order. */
function mapText(html: string, map: (text: string) => string): string {
  let depth = 0
  return html
    .split(/(<[^>]*>)/)
    .map((piece, index) => {
      if (index % 2 === 0) return depth === 0 ? map(piece) : piece
      const [, slash, element = ''] = /^<(\/?)([a-z0-9]+)/i.exec(piece) ?? []
      if (skippedElements.has(element.toLowerCase())) depth += slash ? -1 : 1
      return piece
    })
    .join('')
}
