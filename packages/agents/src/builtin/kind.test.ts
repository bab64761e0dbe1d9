import { createHash } from 'node:crypto'
import type { FilePart, NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import { collectAnswer } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { aliceSender, openTestAgent, testContext, testMessage } from '../../test/gateway.ts'

const inlineFile: FilePart = {
  kind: 'file',
  name: 'note.txt',
  mime: 'text/plain',
  bytes_ref: { kind: 'inline', data_base64: 'YQ==' },
}

async function ask(use: string, message: NormalizedMessage, context = testContext()) {
  const { agent } = await openTestAgent({ use })
  const answer = await collectAnswer(await agent.handle(message, context), () => {})
  return { ...answer, text: plainTextOf(answer?.parts ?? []) }
}

function askEcho(members: Partial<NormalizedMessage>, text = 'hello') {
  return ask('builtin:echo', testMessage(text, members))
}

function askHelp(text: string, context = testContext(), members: Partial<NormalizedMessage> = {}) {
  return ask('builtin:help', testMessage(text, members), context)
}

describe('builtin:echo', () => {
  test('repeats the message and the sender’s proof', async () => {
    expect((await askEcho({ sender: aliceSender })).text).toBe(
      [
        '> hello',
        '',
        '- **From:** @alice@peer.test',
        '- **Proven by:** `ap-http-signature`',
        '- **Verified:** yes',
        '- **Key:** `https://peer.test/users/alice#main-key`',
        '- **Issuer:** `peer.test`',
      ].join('\n'),
    )
  })

  test('says so if the sender is unproven', async () => {
    expect((await askEcho({})).text).toBe(
      ['> hello', '', '- **From:** @alice@peer.test', '- **Proven by:** `none`', '- **Verified:** no'].join('\n'),
    )
  })

  test('quotes every line', async () => {
    expect((await askEcho({}, 'one\n\ntwo')).text).toMatch(/^> one\n>\n> two\n\n- /)
  })

  test('reads HTML without its tags', async () => {
    const content =
      '<p><a href="https://agents.test/@echo">@echo</a> a &lt; b &amp;amp; c<br>next</p><p>end &bogus;</p>'
    const { text } = await askEcho({ parts: [{ kind: 'text', mime: 'text/html', content }] })
    expect(text).toMatch(/^> @echo a < b &amp; c\n> next\n>\n> end &bogus;\n\n/)
  })

  test('prefers the plain text of a message with both forms', async () => {
    const parts: NormalizedMessage['parts'] = [
      { kind: 'text', mime: 'text/html', content: '<p>rich</p>' },
      { kind: 'text', mime: 'text/plain', content: 'plain' },
    ]
    expect((await askEcho({ parts })).text).toMatch(/^> plain\n\n/)
  })

  test('names the attached files, and a message without text', async () => {
    expect((await askEcho({ parts: [inlineFile] })).text).toMatch(
      /^> \(no text\)\n> \[file: note\.txt, text\/plain\]\n/,
    )
  })

  test('shortens long messages', async () => {
    const { text } = await askEcho({}, 'x'.repeat(100_000))
    expect(text.length).toBeLessThan(4_200)
    expect(text).toContain('x…\n')
  })

  test('keeps a key id within its code span and line', async () => {
    const { text } = await askEcho({ sender: { ...aliceSender, key_id: 'a`](x)\n# b' } })
    expect(text).toContain('- **Key:** `a](x)# b`\n')
  })

  test('reads HTML of only opening brackets in linear time', async () => {
    const content = '<'.repeat(1_000_000)
    expect((await askEcho({ parts: [{ kind: 'text', mime: 'text/html', content }] })).text).toContain('> <<<')
  })
})

describe('builtin:help', () => {
  test('lists its commands', async () => {
    const { text } = await askHelp('help')
    for (const word of 'help history attachments file tool refuse ask remember recall slow'.split(' ')) {
      expect(text).toContain(`- \`${word}\`: `)
    }
  })

  test('lists its commands for an unknown one', async () => {
    for (const strange of ['dance', '', 'constructor']) {
      expect((await askHelp(strange)).text).toMatch(/^I know these words: help, history, /)
    }
  })

  test('answers a word of any length in linear time', async () => {
    expect((await askHelp(`${'.'.repeat(2_000_000)}x`)).text).toMatch(/^I know these words: /)
    expect((await askHelp(`help${'!'.repeat(100)}`)).text).toContain('- `help`: ')
  })

  test.each(['recall', ' Recall ', 'RECALL!', '@help recall', '@help@agents.test @bob@peer.test recall\n\n> quoted'])(
    'understands "%s"',
    async text => {
      expect((await askHelp(text)).text).toBe('You told me nothing.')
    },
  )

  test('shows the history that it gets', async () => {
    const turn = { parts: [], timestamp: '2026-01-01T00:00:00.000Z' }
    const turns = [
      { ...turn, role: 'user' as const, sender: { address: '@alice@peer.test' } },
      { ...turn, role: 'assistant' as const, sender: { address: '@help@agents.test' } },
    ]
    const context = testContext({ history: () => ({ turns, cacheBreakpointAfter: 0 }) })
    expect((await askHelp('history', context)).text).toBe(
      '2 turns, cacheBreakpointAfter: 0\n\n0. user (@alice@peer.test)\n1. assistant (@help@agents.test)',
    )
    expect((await askHelp('history')).text).toBe('0 turns, cacheBreakpointAfter: none')
  })

  test('describes attachments as received', async () => {
    const bytes = new TextEncoder().encode('attached')
    const context = testContext({ attachment: async () => ({ bytes, mime: 'text/x-note' }) })
    const parts = [...testMessage('attachments').parts, inlineFile]
    const digest = createHash('sha256').update(bytes).digest('hex')
    expect((await askHelp('attachments', context, { parts })).text).toBe(
      `- \`note.txt\` (text/x-note): 8 bytes, sha256 \`${digest}\``,
    )
    expect((await askHelp('attachments')).text).toBe('There is no attachment.')
  })

  test('creates a file', async () => {
    const { parts = [] } = await askHelp('file')
    const file = parts[1] as FilePart
    const bytes = Buffer.from(file.bytes_ref.kind === 'inline' ? file.bytes_ref.data_base64 : '', 'base64')
    expect(bytes.toString()).toBe('Made for @alice@peer.test\nin answer to https://peer.test/activities/1\n')
    expect(file).toMatchObject({ name: 'note.txt', mime: 'text/plain', size: bytes.length })
  })

  test('calls a tool and reports its result', async () => {
    const { parts } = await askHelp('tool one two three')
    expect(parts).toEqual([
      {
        kind: 'tool_call',
        id: 'call-c0ffee',
        name: 'count_words',
        args: { text: 'one two three' },
        result: { words: 3 },
      },
      { kind: 'text', mime: 'text/markdown', content: 'I counted 3 words.' },
    ])
  })

  test('asks a question', async () => {
    expect(await askHelp('ask')).toMatchObject({ status: 'input_required', text: expect.stringContaining('?') })
  })

  test('refuses', async () => {
    expect(await askHelp('refuse')).toMatchObject({
      status: 'rejected',
      parts: [{ kind: 'policy', policy: { kind: 'forbidden', message: 'I was asked to refuse, so I do.' } }],
    })
  })

  test('streams its answer slowly', async () => {
    const { agent } = await openTestAgent({ use: 'builtin:help' }, { system: { sleep: async () => {} } })
    const pieces: unknown[] = []
    const answer = await collectAnswer(await agent.handle(testMessage('slow'), testContext()), ({ parts }) => {
      pieces.push(parts)
    })
    expect(pieces).toHaveLength(3)
    expect(plainTextOf(answer?.parts ?? [])).toBe('One, two, three.')
  })
})
