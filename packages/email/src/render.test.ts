import type { NormalizedMessage, NormalizedResponse, Part } from '@postern/message'
import type { AgentDirectory, Delivery } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { RenderMailDeps } from './render.ts'
import { extendThreadIndex, renderMail } from './render.ts'

const agents: AgentDirectory = {
  domain: 'agents.test',
  origin: 'https://agents.test',
  defaultAgent: 'echo',
  find: () => undefined,
  list: () => [],
}
const message: NormalizedMessage = {
  id: 'm1@alice.test',
  thread_id: 'm1@alice.test',
  sender: {
    address: '@alice@alice.test',
    display_name: 'Alice\r\nBcc: x@evil.test',
    auth_method: 'none',
    verified: false,
  },
  recipient: '@echo@agents.test',
  parts: [{ kind: 'text', mime: 'text/plain', content: 'First <b>line</b>\n> older\n\nLast' }],
  recipient_capabilities: { mention_relay: { kind: 'none' } },
  received_via: 'email',
  received_at: '2026-11-21T09:00:00.000Z',
  raw: '',
}
const response: NormalizedResponse = {
  id: '0123456789abcdef0123456789abcdef',
  thread_id: 'm1@alice.test',
  in_reply_to: 'm1@alice.test',
  sender: '@echo@agents.test',
  parts: [{ kind: 'text', mime: 'text/plain', content: 'Hello' }],
  status: 'completed',
  created_at: '2026-11-21T10:00:00.000Z',
}

function render(
  changes: Partial<NormalizedResponse> = {},
  options: Partial<RenderMailDeps> & { quote?: boolean; text?: string; target?: object } = {},
) {
  const { quote = false, text, target = {}, ...rest } = options
  const parts: Part[] = text === undefined ? message.parts : [{ kind: 'text', mime: 'text/plain', content: text }]
  const delivery: Delivery = {
    id: '1',
    token: 1,
    attempt: 1,
    queuedAt: 0,
    via: 'email',
    agent: 'echo',
    to: 'alice@alice.test',
    target: { mailbox: 'alice@alice.test', subject: 'Hi', references: [], ...target },
    correlationId: 'c',
    message: { ...message, parts },
    response: { ...response, ...changes },
  }
  return renderMail(delivery, { agents, config: { quote, attach_bytes: 100 }, maxHops: 5, ...rest })
}

describe('renderMail() with quotes', () => {
  test('puts the answered text under the answer, one level deeper', () => {
    const { text, html } = render({}, { quote: true })
    const line = 'On Sat, 21 Nov 2026 09:00:00 GMT, Alice Bcc: x@evil.test wrote:'
    expect(text).toBe(`Hello\n\n${line}\n> First <b>line</b>\n>> older\n>\n> Last`)
    expect(html).toContain(
      `<p dir="auto">${line}</p>\n<blockquote type="cite"><p dir="auto">First &lt;b&gt;line&lt;/b&gt;<br>`,
    )
  })

  test('quotes at most ten thousand characters, and nothing without text', () => {
    const long = render({}, { quote: true, text: 'x'.repeat(20_000) })
    expect(long.text.length).toBeLessThan(10_200)
    expect(long.text).toMatch(/x…$/)
    expect(render({}, { quote: true, text: ' ' }).text).toBe('Hello')
  })

  test('omits quotes by default', () => {
    expect(render().text).toBe('Hello')
  })
})

describe('renderMail() writes lines that every server accepts:', () => {
  test('a subject of an agent fits in one line (EM-57)', () => {
    const { subject } = render({ subject: `a\r\nBcc: v@evil.test\u2028${'z'.repeat(5000)}` })
    expect(subject).toMatch(/^a Bcc: v@evil\.test z+$/)
    expect(subject.length).toBe(900)
  })

  test('a reply refers only to ids in ASCII, because other ids need SMTPUTF8 (EM-55)', () => {
    const wire = render({}, { target: { message_id: 'ü@a.test', references: ['root@a.test', 'ä@a.test'] } })
    expect([wire.inReplyTo, wire.references]).toEqual([undefined, ['root@a.test']])
  })

  test('an address tag returns unchanged with any characters', () => {
    expect(render({}, { target: { tag: "a$'b$$c" } }).replyTo).toBe("echo+a$'b$$c@agents.test")
  })
})

describe('renderMail() with files', () => {
  const fileAddress = (digest: string) => `https://agents.test/attachments/${digest}?token=t`
  const file = (name: string, size: number): Part => ({
    kind: 'file',
    name,
    size,
    mime: 'text/plain',
    bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest: name.slice(0, 1).repeat(64) },
  })

  test('attaches files that fit, and links the others', () => {
    const parts = [...response.parts, file('a.txt', 60), file('b.txt', 60), file('c.txt', 40)]
    const wire = render({ parts }, { fileAddress })
    expect(wire.attachments.map(({ name }) => name)).toEqual(['a.txt', 'c.txt'])
    expect(wire.text).toBe(`Hello\n\nb.txt: https://agents.test/attachments/${'b'.repeat(64)}?token=t`)
    expect(wire.html).toContain(`<a href="https://agents.test/attachments/${'b'.repeat(64)}?token=t">b.txt</a>`)
  })

  test('counts an answer’s inline bytes after base64 decoding', () => {
    const createInlineFile = (bytes: number): Part => {
      const data_base64 = Buffer.alloc(bytes).toString('base64')
      return { kind: 'file', name: 'i.bin', bytes_ref: { kind: 'inline', data_base64 } }
    }
    const listAttachedNames = (bytes: number) =>
      render({ parts: [createInlineFile(bytes), file('a.txt', 40)] }, { fileAddress }).attachments.map(
        ({ name }) => name,
      )
    expect(listAttachedNames(60)).toEqual(['i.bin', 'a.txt'])
    expect(listAttachedNames(63)).toEqual(['i.bin'])
  })

  test('attaches files without a URL, of any size', () => {
    expect(render({ parts: [file('a.txt', 600)] }).attachments).toHaveLength(1)
    const inline: Part = { kind: 'file', bytes_ref: { kind: 'inline', data_base64: 'A'.repeat(400) } }
    expect(render({ parts: [inline] }, { fileAddress }).attachments).toHaveLength(1)
  })
})

describe('extendThreadIndex()', () => {
  const at = Date.UTC(2026, 10, 21)
  const createThreadIndex = (ms: number) => {
    const octets = Buffer.alloc(22, 9)
    octets.writeUIntBE(Number((116_444_736_000_000_000n + BigInt(ms) * 10_000n) >> 16n), 0, 6)
    return octets
  }
  const extendIndex = (octets: Buffer) => {
    const index = extendThreadIndex(octets.toString('base64'), { response: 'r', createdAt: at })
    return index === undefined ? undefined : Buffer.from(index, 'base64')
  }

  test('adds the time since the conversation began, in fine or coarse units', () => {
    const readSeconds = (octets: Buffer | undefined) => {
      const bits = octets?.readUInt32BE(22) ?? 0
      return bits >= 0x8000_0000 ? (bits - 0x8000_0000) * 0.8388608 : bits * 0.0262144
    }
    expect(readSeconds(extendIndex(createThreadIndex(at - 3_600_000)))).toBeCloseTo(3_600, 0)
    expect(
      Math.abs(readSeconds(extendIndex(createThreadIndex(at - 3 * 31_536_000_000))) - 3 * 31_536_000),
    ).toBeLessThan(2)
  })

  test('extends an extended value again, and leaves an invalid one alone', () => {
    expect(extendIndex(Buffer.concat([createThreadIndex(at), Buffer.alloc(5)]))).toHaveLength(32)
    for (const octets of [Buffer.alloc(0), Buffer.alloc(21), Buffer.alloc(24), Buffer.alloc(22 + 500)]) {
      expect(extendIndex(octets)).toBeUndefined()
    }
    expect(extendThreadIndex(undefined, { response: 'r', createdAt: at })).toBeUndefined()
  })
})
