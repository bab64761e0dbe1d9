import { describe, expect, it } from 'vitest'
import { readRunInput } from './run-input.ts'

const request = (members: object) => ({ threadId: 't', runId: 'r', messages: [], ...members })
const list = (length: number, make: (at: number) => unknown = () => ({})) => Array.from({ length }, (_, at) => make(at))

describe('readRunInput()', () => {
  it.each([
    ['messages', request({ messages: list(2_001) }), '2000 messages'],
    ['tools', request({ tools: list(513) }), '512 tools'],
    ['contexts', request({ context: list(513) }), '512 context'],
    ['decisions', request({ resume: list(65) }), '64 resume'],
    ['members', request(Object.fromEntries(list(62, at => [`k${at}`, 1]) as [string, number][])), '64 members'],
    ['parts', request({ messages: list(9, () => ({ content: list(1_000) })) }), '8000 parts of messages'],
  ])('refuses too many %s before it looks at them', (_, document, what) => {
    return expect(readRunInput(document)).rejects.toThrow(
      expect.objectContaining({ code: 'too_large', message: `Cannot run: more than ${what}` }),
    )
  })

  it.each(['', 'a\0b', '\ud800', 'x'.repeat(257)])('refuses %j as an id', async name => {
    const message = { id: name, role: 'user', content: 'hi' }
    for (const document of [request({ threadId: name }), request({ runId: name }), request({ messages: [message] })]) {
      await expect(readRunInput(document)).rejects.toThrow(expect.objectContaining({ code: 'malformed' }))
    }
  })

  it('accepts ids of any other characters', async () => {
    for (const name of ['../../x', 'a/b?c#d', '\u202e', '💬', "'; DROP TABLE", '%00']) {
      const { input } = await readRunInput(request({ threadId: name, runId: name }))
      expect(input).toMatchObject({ threadId: name, runId: name })
    }
  })
})
