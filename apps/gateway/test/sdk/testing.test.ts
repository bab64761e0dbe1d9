import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { StartedGateway } from '../../src/testing/index.ts'
import { startGateway } from '../../src/testing/index.ts'

const folder = import.meta.dirname
const settings = {
  agents: {
    desk: { use: './agents/library.ts' },
    other: { use: 'builtin:echo' },
    lister: { use: './agents/lister.ts' },
    filer: { use: '../agents/chat/filer.ts' },
  },
} as const
const noteFile = { kind: 'file', name: 'note.txt', mime: 'text/plain', bytes: Buffer.from('buy milk') } as const

describe('startGateway() of postern/testing', () => {
  let gateway: StartedGateway

  beforeAll(async () => {
    gateway = await startGateway({ folder, settings })
  })
  afterAll(() => gateway.stop())

  test.each(['activitypub', 'a2a', 'email'] as const)(
    'delivers a signed message by %s to an agent, and returns its answer',
    async via => {
      const { reply, status } = await gateway.send({ via, to: 'desk', text: 'hello' })
      expect(reply?.text).toContain(`By ${via} you said: hello`)
      expect(['answered', 'completed']).toContain(status)
    },
  )

  test('chats with the default agent and with another one, and continues a thread', async () => {
    const first = await gateway.chat({ text: 'hello' })
    expect(first.text).toBe('By web you said: hello')
    expect(first.events.at(-1)).toMatchObject({ type: 'RUN_FINISHED' })
    const next = await gateway.chat({ text: 'and now?', thread: first.thread })
    expect(next).toMatchObject({ text: 'By web you said: and now?', thread: first.thread })
    expect((await gateway.chat({ to: 'other', text: 'hello other' })).text).toContain('> hello other')
  })

  test.each([
    ['called', /^Here.*hello\.txt.*and so on\.$/s],
    ['crowded', /^Here.*hello\.txt.*it is\..*And so on\.$/s],
  ])('returns the whole text of a chat with a file before a call (%s)', async (text, words) => {
    const answer = await gateway.chat({ to: 'filer', text })
    expect(answer.text).toMatch(words)
    expect(answer.text.match(/Here/g)).toHaveLength(1)
  })

  test.each([
    ['activitypub', '@bob@mastodon.test'],
    ['a2a', 'peer'],
    ['email', 'bob@nodmarc.test'],
    ['web', 'bob'],
  ] as const)('sends files by %s as %s, and returns the message’s number and the answer’s parts', async (via, from) => {
    const { number, parts, status } = await gateway.send({ via, from, to: 'lister', text: 'look', parts: [noteFile] })
    expect(number).toBeGreaterThan(0)
    expect(['answered', 'completed']).toContain(status)
    const [textPart, listPart] = parts
    expect(textPart).toMatchObject({ kind: 'text' })
    const lines = textPart?.kind === 'text' ? textPart.content.split('\n') : []
    expect(lines[0]).toContain(from.replace(/^@/, '').split('@')[0])
    expect(lines.slice(1, 3)).toEqual([expect.stringContaining('look'), 'file note.txt text/plain buy milk'])
    const data_base64 = Buffer.from(lines.join('\n')).toString('base64')
    expect(listPart).toMatchObject({ kind: 'file', name: 'list.txt', bytes_ref: { kind: 'inline', data_base64 } })
    const record = await gateway.record({ number })
    expect(record).toMatchObject({ number, state: 'answered', message: { received_via: via } })
    expect(await gateway.record(record.message.id)).toMatchObject({ number })
    expect(record.deliveries.every(({ state }) => state === 'sent')).toBe(true)
  })

  test('sends data by A2A, and refuses to send it by other channels', async () => {
    const value = { kind: 'artifact', data: { size: [1, 2] } } as const
    const { parts } = await gateway.send({ via: 'a2a', to: 'lister', parts: [value] })
    expect(parts[0]).toMatchObject({ content: expect.stringMatching(/\ndata {"size":\[1,2\]}$/) })
    await expect(gateway.send({ via: 'email', to: 'lister', parts: [value] })).rejects.toThrow('goes by A2A alone')
  })

  test('chats as the operator or with a token, with files', async () => {
    const ownResult = await gateway.chat({ to: 'lister', text: 'hello' })
    const bobs = await gateway.chat({ to: 'lister', from: 'bob', text: 'hello', parts: [noteFile] })
    expect(bobs.number).toBeGreaterThan(ownResult.number ?? Number.NaN)
    expect(bobs.text).toContain('file note.txt text/plain buy milk')
    expect(bobs.text.split('\n')[0]).toContain('bob')
    expect(ownResult.text).not.toContain('bob')
    expect(bobs.parts).toMatchObject([
      { kind: 'text', content: expect.stringContaining('buy milk') },
      { kind: 'file', name: 'list.txt' },
    ])
  })

  test('names a message that does not exist', async () => {
    await expect(gateway.record(9_999)).rejects.toThrow('There is no message "#9999"')
  })

  test('reports a chat that the gateway refuses', async () => {
    await expect(gateway.chat({ to: 'nobody', text: 'hello' })).rejects.toThrow(/Cannot chat: the gateway answered 404/)
  })

  test('runs beside another one, and leaves nothing behind when it ends', async () => {
    const second = await startGateway({ folder, settings })
    expect(second.url).not.toBe(gateway.url)
    expect((await second.send({ via: 'a2a', to: 'desk', text: 'hi' })).reply?.text).toContain('you said: hi')
    await second.stop()
    await expect(fetch(`${second.url}/healthz`)).rejects.toThrow()
    expect(existsSync(`${folder}/.postern`)).toBe(false)
  })
})

test('startGateway() of postern/testing names the fault of an agent', async () => {
  const starting = startGateway({ folder, settings: { agents: { desk: { use: './agents/missing.ts' } } } })
  await expect(starting).rejects.toThrow(/agents\.desk\.use: .*there is no file/)
})
