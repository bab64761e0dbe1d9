import { defineAgent, defineTool, json, readMessageText } from '@postern/sdk'
import { expect, test } from 'vitest'
import { createTestContext, createTestMessage } from './index.ts'

test('createTestMessage() creates a message of a proven sender, with the given parts and members', () => {
  const link = { kind: 'link', url: 'https://example.test/' } as const
  const message = createTestMessage({ text: 'hello', parts: [link, json({ a: 1 })], kind: 'reaction', thread_id: 't' })
  expect(message).toMatchObject({ kind: 'reaction', thread_id: 't', sender: { verified: true } })
  expect(message.parts).toMatchObject([{ content: 'hello' }, link, { kind: 'artifact', data: { a: 1 } }])
  expect(createTestContext({ message }).identity.has({ issuer: 'peer.test' })).toBe(true)
  const stranger = createTestMessage({ from: '@bob@example.test', verified: false })
  expect(stranger.sender).toEqual({ address: '@bob@example.test', auth_method: 'none', verified: false })
  expect(createTestContext({ message: stranger }).person).toBeUndefined()
  expect(createTestContext({ message }).person?.id).toMatch(/^[0-9a-f]{32}$/)
})

test('createTestContext() runs an agent and records its actions', async () => {
  const agent = defineAgent({
    async handle(message, context) {
      const state = await context.state.get()
      context.state.set({ before: state ?? null })
      context.note({ type: 'thought', content: 'hm' })
      context.stage('reading')
      const id = context.post('News', { visibility: 'unlisted' })
      await context.edit(String(id), [json([1])])
      await context.react('like')
      const { parts, status } = await context.call('@other@peer.test', readMessageText(message))
      return { parts: [...parts], status }
    },
  })
  const message = createTestMessage({ text: 'hello' })
  const context = createTestContext({
    message,
    state: 7,
    call: async (address, parts) => ({
      parts: [{ kind: 'text', mime: 'text/plain', content: `${address} ${parts.length}` }],
    }),
  })
  expect(await agent.handle(message, context)).toMatchObject({
    status: 'completed',
    parts: [{ content: '@other@peer.test 1' }],
  })
  expect(context.acts).toMatchObject([
    { act: 'post', visibility: 'unlisted', parts: [{ content: 'News', mime: 'text/markdown' }] },
    { act: 'edit', parts: [{ kind: 'artifact', data: [1] }] },
    { act: 'like' },
  ])
  expect([context.notes, context.stages]).toEqual([[{ type: 'thought', content: 'hm' }], ['reading']])
  expect(await context.state.get()).toEqual({ before: 7 })
})

test('createTestContext() lets an agent ask for consent, and throws without a prepared decision', async () => {
  const context = createTestContext()
  expect(context.requireConsent({ message: 'May I?' })).toMatchObject({
    status: 'input_required',
    parts: [{ kind: 'policy', policy: { kind: 'consent_required', url: expect.stringContaining('/actions/') } }],
  })
  expect(() => context.requireConsent({ message: '' })).toThrow()
  await expect(context.call('@other@peer.test', 'hello')).rejects.toThrow('set createTestContext({ call })')
  const file = {
    kind: 'file',
    bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest: 'a'.repeat(64) },
  } as const
  await expect(context.attachment(file)).rejects.toThrow('set createTestContext({ readFile })')
  const bytes = new Uint8Array([1])
  expect(await createTestContext({ readFile: () => ({ bytes }) }).attachment(file)).toEqual({ bytes })
  const inline = { kind: 'file', name: 'a.txt', bytes_ref: { kind: 'inline', data_base64: 'aGk=' } } as const
  expect(await context.attachment(inline)).toEqual({ name: 'a.txt', bytes: new Uint8Array([104, 105]) })
})

test('createTestContext() gives a tool its message, and keeps the files that the tool attaches', () => {
  const tool = defineTool({
    description: 'Writes a receipt',
    run(_args, context) {
      context.attach(new Uint8Array([1]), { name: 'receipt.pdf' })
      return context.message.sender.address
    },
  })
  const context = createTestContext({ message: createTestMessage({ from: '@bob@example.test' }) })
  expect(tool.run({}, context)).toBe('@bob@example.test')
  expect(context.attached).toEqual([{ name: 'receipt.pdf', bytes: new Uint8Array([1]) }])
})
