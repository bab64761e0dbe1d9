// Lists the mentions and hashtags in the text of a response.
import { memoize } from '@postern/limits'
import type { Part } from '@postern/message'
import { maxTags, toTagKey } from './hashtags.ts'
import { partsToHtmlCached } from './post-html.ts'
import { replaceMentionsAndHashtags } from './replace-mentions.ts'

/** The mentions and hashtags in the text of a response, in order, each once. */
interface TextReferences {
  /** The mentioned people as `@user@host`. */
  readonly mentions: readonly string[]
  /** The hashtags without `#`. */
  readonly hashtags: readonly string[]
}

const memoizeReferences = memoize<TextReferences>({
  sizeOf: ({ mentions, hashtags }) => mentions.join().length + hashtags.join().length,
})

/** Returns the mentions and hashtags in the text of a response, for all of its posts together. It is pure. */
export function readTextReferences(parts: readonly Part[]): TextReferences {
  const textParts = parts.filter(part => part.kind === 'text')
  return memoizeReferences(JSON.stringify(textParts), () =>
    collectReferences(partsToHtmlCached({ parts: textParts, status: 'completed' })),
  )
}

function collectReferences(html: string): TextReferences {
  const mentions = new Set<string>()
  const hashtags = new Map<string, string>()
  replaceMentionsAndHashtags(html, {
    replaceMention: address => void mentions.add(address),
    replaceHashtag: label => {
      const key = toTagKey(label)
      if (!hashtags.has(key) && hashtags.size < maxTags) hashtags.set(key, label)
      return undefined
    },
  })
  return { mentions: [...mentions], hashtags: [...hashtags.values()] }
}
