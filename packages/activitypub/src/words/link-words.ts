import { escapeHtml } from '@postern/core'
import { memoize } from '../cache/memoize.ts'
import { mapWords } from './inline-links.ts'
import type { Mentioned } from './mention-link.ts'
import { writeMention } from './mention-link.ts'
import { maxTags, tagKey } from './words-called.ts'

/** HTML with its names and tags as links. */
export interface LinkedWords {
  readonly html: string
  /** In order, each once, without `#`. */
  readonly tags: readonly string[]
  /** Names of mentioned people that occur in it. */
  readonly named: ReadonlySet<string>
}

interface LinkOptions {
  /** Names of others stay text. */
  readonly mentioned: readonly Mentioned[]
  tagIri(tag: string): string
  /** Distinguishes tags that differ in `tagIri`. */
  readonly memoKey: string
}

const remember = memoize<LinkedWords>()

/** Long texts are linked once, however often they are read. Pure. */
export function linkWords(html: string, options: LinkOptions): LinkedWords {
  return remember(JSON.stringify([options.memoKey, options.mentioned, html]), () => link(html, options))
}

function link(html: string, { mentioned, tagIri }: LinkOptions): LinkedWords {
  const people = new Map(mentioned.map(each => [each.name, each]))
  const tags = new Map<string, string>()
  const named = new Set<string>()
  const linked = mapWords(html, {
    name(address) {
      const found = people.get(address)
      if (found) named.add(address)
      return found && writeMention(found, address.slice(1))
    },
    tag(label) {
      const key = tagKey(label)
      if (!tags.has(key) && tags.size >= maxTags) return undefined
      if (!tags.has(key)) tags.set(key, label)
      return `<a href="${escapeHtml(tagIri(key))}" class="mention hashtag" rel="tag">#<span>${label}</span></a>`
    },
  })
  return { html: linked, tags: [...tags.values()], named }
}
