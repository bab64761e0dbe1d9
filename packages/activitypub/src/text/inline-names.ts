// Lists the names and hashtags in the text of a response.
import { memoize } from '@postern/limits'
import type { Part } from '@postern/message'
import { maxTags, tagKey } from './hashtags.ts'
import { mapInline } from './map-inline.ts'
import { partsToHtmlOnce } from './post-html.ts'

/** The names and tags in the text of a response, in order, each once. */
interface InlineNames {
  /** The names in the form `@user@host`. */
  readonly names: readonly string[]
  /** The tags without `#`. */
  readonly tags: readonly string[]
}

const rememberNamed = memoize<InlineNames>({ sizeOf: ({ names, tags }) => names.join().length + tags.join().length })

/** Returns the names and tags in the text of a response, for all of its posts together. It is pure. */
export function readInlineNames(parts: readonly Part[]): InlineNames {
  const worded = parts.filter(part => part.kind === 'text')
  return rememberNamed(JSON.stringify(worded), () =>
    collectWords(partsToHtmlOnce({ parts: worded, status: 'completed' })),
  )
}

function collectWords(html: string): InlineNames {
  const names = new Set<string>()
  const tags = new Map<string, string>()
  mapInline(html, {
    name: address => void names.add(address),
    tag: label => {
      const key = tagKey(label)
      if (!tags.has(key) && tags.size < maxTags) tags.set(key, label)
      return undefined
    },
  })
  return { names: [...names], tags: [...tags.values()] }
}
