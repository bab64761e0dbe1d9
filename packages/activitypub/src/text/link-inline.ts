// Writes names and hashtags in the HTML of a post as links.

import { memoize } from '@postern/limits'
import { escapeHtml } from '@postern/message'
import { maxTags, tagKey } from './hashtags.ts'
import { mapInline } from './map-inline.ts'
import type { Mentioned } from './mention.ts'
import { writeMention } from './mention.ts'

/** The HTML with its names and tags as links, and the names and tags that it has. */
export interface LinkedHtml {
  readonly html: string
  /** The tags in order, each once, without `#`. */
  readonly tags: readonly string[]
  /** The names of mentioned people that occur in the text. */
  readonly named: ReadonlySet<string>
}

interface LinkOptions {
  /** The people whose names become links. Other names stay text. */
  readonly mentioned: readonly Mentioned[]
  tagIri(tag: string): string
  /** The cache key that distinguishes different `tagIri` functions. */
  readonly memoKey: string
}

const rememberLinked = memoize<LinkedHtml>({ sizeOf: ({ html }) => html.length })

/** Links the names and tags in HTML. A long text is linked once, however often it is read. It is pure. */
export function linkInline(html: string, options: LinkOptions): LinkedHtml {
  return rememberLinked(JSON.stringify([options.memoKey, options.mentioned, html]), () => link(html, options))
}

function link(html: string, { mentioned, tagIri }: LinkOptions): LinkedHtml {
  const people = new Map(mentioned.map(each => [each.name, each]))
  const tags = new Map<string, string>()
  const occurring = new Set<string>()
  const linked = mapInline(html, {
    name(address) {
      const mentioned = people.get(address)
      if (mentioned) occurring.add(address)
      return mentioned && writeMention(mentioned, address.slice(1))
    },
    tag(label) {
      const key = tagKey(label)
      if (!tags.has(key) && tags.size >= maxTags) return undefined
      if (!tags.has(key)) tags.set(key, label)
      return `<a href="${escapeHtml(tagIri(key))}" class="mention hashtag" rel="tag">#<span>${label}</span></a>`
    },
  })
  return { html: showEscaped(linked), tags: [...tags.values()], named: occurring }
}

/** Restores characters that were escaped as character references so that they begin no name and no tag. */
function showEscaped(html: string): string {
  return html.replace(/&#(?:35|64);/g, sign => (sign === '&#35;' ? '#' : '@'))
}
