import { expect, test } from 'vitest'
import { linkMentionsAndHashtags } from './link-mentions.ts'
import { partsToHtml } from './post-html.ts'
import { readTextReferences } from './text-references.ts'

test('linkMentions() shows an escaped @ or # as text, without a mention or hashtag', () => {
  const parts = [
    { kind: 'text', mime: 'text/markdown', content: 'Write \\#help or \\@guest@elsewhere.test, #tag' } as const,
  ]
  expect(readTextReferences(parts)).toEqual({ mentions: [], hashtags: ['tag'] })
  const options = { mentions: [], formatTagIri: (tag: string) => `https://agents.test/tags/${tag}`, tagIriKey: 'test' }
  const { html, tags } = linkMentionsAndHashtags(partsToHtml({ parts, status: 'completed' }), options)
  expect(html).toContain('<p>Write #help or @guest@elsewhere.test, <a href="https://agents.test/tags/tag"')
  expect(tags).toEqual(['tag'])
})
