import type { Part } from '@postern/core'
import { memoize } from '../cache/memoize.ts'
import { mapWords } from './inline-links.ts'
import { partsToHtmlOnce } from './parts-to-html.ts'

/** The names and tags in the words of an answer, in order, each once. */
interface NamedWords {
  /** `@user@host` */
  readonly names: readonly string[]
  /** Without `#`. */
  readonly tags: readonly string[]
}

/** Tags of one post; more are text. */
export const maxTags = 30
const remember = memoize<NamedWords>()

/** Names and tags in the words of an answer, all of its posts together. Pure. */
export function readNamedWords(parts: readonly Part[]): NamedWords {
  const worded = parts.filter(part => part.kind === 'text')
  return remember(JSON.stringify(worded), () => collectWords(partsToHtmlOnce({ parts: worded, status: 'completed' })))
}

function collectWords(html: string): NamedWords {
  const names = new Set<string>()
  const tags = new Map<string, string>()
  mapWords(html, {
    name: address => void names.add(address),
    tag: label => {
      const key = tagKey(label)
      if (!tags.has(key) && tags.size < maxTags) tags.set(key, label)
      return undefined
    },
  })
  return { names: [...names], tags: [...tags.values()] }
}

/** It is one tag, whatever the case and the width of its letters. */
export function tagKey(label: string): string {
  return label.normalize('NFKC').toLowerCase()
}
