import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway } from '../setup/gateway.ts'
import { shopkeeper } from '../setup/requirement-steps.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await openTestGateway(() => ({ agents: { echo: { use: 'builtin:echo' }, shop: shopkeeper } }))
})
afterAll(() => gateway.close())

interface Preview {
  readonly via: string
  readonly is_sent: boolean
  readonly documents: readonly Readonly<Record<string, unknown>>[]
}

async function previewNewest(): Promise<Readonly<Record<string, Preview>>> {
  const [newest] = await gateway.messages()
  const { previews } = await gateway.requestOperator<{ previews: Preview[] }>(`/messages/${newest?.message}/previews`)
  return Object.fromEntries(previews.map(preview => [preview.via, preview]))
}

test.each(['activitypub', 'email', 'a2a'] as const)(
  'the preview shows an answer to %s in the form of each channel, and sends nothing',
  async via => {
    const { status } = await gateway.simulation.send({ via, to: 'echo', text: 'is **this** <it>?' })
    expect(status).toMatch(/answered|completed/i)
    await eventually(async () => (await gateway.deliveries()).every(({ state }) => state === 'sent'))
    const deliveriesBefore = await gateway.deliveries()
    const previews = await previewNewest()
    const sentChannels = Object.values(previews).flatMap(({ via: name, is_sent }) => (is_sent ? [name] : []))
    expect(sentChannels).toEqual([via])
    expect(previews.activitypub?.documents).toEqual([
      expect.objectContaining({
        type: 'Create',
        object: expect.objectContaining({ content: expect.stringMatching(/<strong>this<\/strong> &lt;it&gt;/) }),
      }),
    ])
    expect(previews.email?.documents).toEqual([
      expect.objectContaining({
        from: expect.objectContaining({ address: 'echo@agents.test' }),
        subject: expect.stringMatching(/^Re: /),
        html: expect.stringMatching(/<strong>this<\/strong> &lt;it&gt;/),
        text: expect.stringContaining('is **this** <it>?'),
      }),
    ])
    expect(previews.a2a?.documents).toEqual([
      expect.objectContaining({ status: expect.objectContaining({ state: 'TASK_STATE_COMPLETED' }) }),
    ])
    expect(JSON.stringify(previews.a2a?.documents)).toContain('is **this** <it>?')
    expect(previews.web?.documents).toEqual([
      expect.objectContaining({ role: 'assistant', content: expect.stringContaining('is **this** <it>?') }),
    ])
    expect(await gateway.deliveries()).toEqual(deliveriesBefore)
  },
)

test('no preview contains a state or a decision link', async () => {
  await gateway.simulation.send({ via: 'email', to: 'shop', text: 'consent' })
  const [newest] = await gateway.messages()
  const receivedText = gateway.simulation.mail.received.at(-1)?.text ?? ''
  const [, state = ''] = /\/actions\/([\w-]{43})/.exec(receivedText) ?? []
  expect(state).toHaveLength(43)
  const text = JSON.stringify(await gateway.requestOperator(`/messages/${newest?.message}/previews`))
  expect(text).toContain('May I hand your order on')
  expect(text).not.toContain(state)
})

test('the command prints a message byte for byte as it came, and refuses an unknown one', async () => {
  const { mail } = await gateway.simulation.mail.deliver({
    to: 'echo@agents.test',
    text: 'käse',
    from: 'alice@alice.test',
  })
  await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
  const [newest] = await gateway.messages()
  const receivedMessage = await gateway.requestOperator<{ bytes: string; beside: unknown }>(
    `/messages/${newest?.message}/received`,
  )
  const { store } = gateway.gateway()
  const storedArrival = await store.findArrival(newest?.message ?? 0)
  expect(Buffer.from(receivedMessage.bytes, 'base64').equals(Buffer.from(storedArrival?.raw ?? []))).toBe(true)
  expect(receivedMessage.beside).toMatchObject({ to: ['echo@agents.test'] })
  await expect(gateway.requestOperator('/messages/999/received')).rejects.toThrow(/404.*there is no message/)
})
