// Lists the names and hashtags in the text of a response.
import { memoize } from '@postern/limits'
import type { Part } from '@postern/message'
import { maxTags, tagKey } from './hashtags.ts'
import { partsToHtmlOnce } from './post-html.ts'
import { replaceMentionsAndHashtags } from './replace-mentions.ts'

/** The names and tags in the text of a response, in order, each once. */
interface InlineMentions {
  /** The names in the form `@user@host`. */
  readonly mentions: readonly string[]
  /** The tags without `#`. */
  readonly hashtags: readonly string[]
}

const memoizeInlineMentions = memoize<InlineMentions>({
  sizeOf: ({ mentions, hashtags }) => mentions.join().length + hashtags.join().length,
})

/** Returns the names and tags in the text of a response, for all of its posts together. It is pure. */
export function readInlineMentions(parts: readonly Part[]): InlineMentions {
  const textParts = parts.filter(part => part.kind === 'text')
  return memoizeInlineMentions(JSON.stringify(textParts), () =>
    collectMentions(partsToHtmlOnce({ parts: textParts, status: 'completed' })),
  )
}

function collectMentions(html: string): InlineMentions {
  const mentions = new Set<string>()
  const hashtags = new Map<string, string>()
  replaceMentionsAndHashtags(html, {
    mention: address => void mentions.add(address),
    hashtag: label => {
      const key = tagKey(label)
      if (!hashtags.has(key) && hashtags.size < maxTags) hashtags.set(key, label)
      return undefined
    },
  })
  return { mentions: [...mentions], hashtags: [...hashtags.values()] }
}
