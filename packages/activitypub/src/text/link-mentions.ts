// Links mentions and hashtags in the HTML of a post.

import { memoize } from '@postern/limits'
import { escapeHtml } from '@postern/message'
import { maxTags, toTagKey } from './hashtags.ts'
import type { MentionedPerson } from './mention.ts'
import { renderMention } from './mention.ts'
import { replaceMentionsAndHashtags } from './replace-mentions.ts'

/** The HTML with its mentions and hashtags as links, and the lists of these mentions and hashtags. */
export interface LinkedHtml {
  readonly html: string
  /** The tags in order, each once, without `#`. */
  readonly tags: readonly string[]
  /** The names of mentioned people that occur in the text. */
  readonly mentionedNames: ReadonlySet<string>
}

interface LinkOptions {
  /** The people whose names become links. Other names stay text. */
  readonly mentions: readonly MentionedPerson[]
  formatTagIri(tag: string): string
  /** The cache key that distinguishes different `formatTagIri` functions. */
  readonly tagIriKey: string
}

const memoizeLinkedHtml = memoize<LinkedHtml>({ sizeOf: ({ html }) => html.length })

/** Links the mentions and hashtags in HTML. The result for a text is cached, because a long text is read many times. It is pure. */
export function linkMentionsAndHashtags(html: string, options: LinkOptions): LinkedHtml {
  return memoizeLinkedHtml(JSON.stringify([options.tagIriKey, options.mentions, html]), () => linkHtml(html, options))
}

function linkHtml(html: string, { mentions, formatTagIri: tagIri }: LinkOptions): LinkedHtml {
  const mentionsByName = new Map(mentions.map(mention => [mention.name, mention]))
  const tags = new Map<string, string>()
  const occurringNames = new Set<string>()
  const linkedHtml = replaceMentionsAndHashtags(html, {
    replaceMention(address) {
      const mention = mentionsByName.get(address)
      if (mention) occurringNames.add(address)
      return mention && renderMention(mention, address.slice(1))
    },
    replaceHashtag(label) {
      const key = toTagKey(label)
      if (!tags.has(key) && tags.size >= maxTags) return undefined
      if (!tags.has(key)) tags.set(key, label)
      return `<a href="${escapeHtml(tagIri(key))}" class="mention hashtag" rel="tag">#<span>${label}</span></a>`
    },
  })
  return { html: unescapeMarkers(linkedHtml), tags: [...tags.values()], mentionedNames: occurringNames }
}

/** Unescapes `@` and `#` that were escaped so that they start no mention or hashtag. */
function unescapeMarkers(html: string): string {
  return html.replace(/&#(?:35|64);/g, sign => (sign === '&#35;' ? '#' : '@'))
}
