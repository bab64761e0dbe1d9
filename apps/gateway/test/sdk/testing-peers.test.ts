import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { PeerReply, StartedGateway } from '../../src/testing/index.ts'
import { startGateway } from '../../src/testing/index.ts'
import type { ExampleModel } from '../python/example-model.ts'
import { openExampleModel } from '../python/example-model.ts'

const guideConfig = { use: 'openai', model: 'm', tools: './agents/weather.ts' } as const
const weatherPolicy = { policy: 'preview', approve: 'operator' } as const

function findRequirementId({ parts }: PeerReply): string {
  const policy = parts.find(part => part.kind === 'policy')?.policy
  return String(policy?.requirement)
}

const settings = { agents: { asker: { use: './agents/asker.ts' } } } as const
const openingHoursFile = { kind: 'file', name: 'times.txt', bytes: new TextEncoder().encode('nine to five') }

describe('a gateway of postern/testing', () => {
  let gateway: StartedGateway
  let model: ExampleModel

  beforeAll(async () => {
    model = await openExampleModel()
    const agents = {
      ...settings.agents,
      guide: { ...guideConfig, base_url: model.url, tool_policies: { weather: weatherPolicy } },
    }
    gateway = await startGateway({ folder: import.meta.dirname, settings: { agents } })
  })
  afterAll(async () => {
    await gateway.stop()
    model.close()
  })

  test('sends forged messages and shows the responses of the gateway', async () => {
    const forgedMessage = { via: 'activitypub', to: 'asker', text: 'hello', fault: 'tampered' } as const
    expect(await gateway.send(forgedMessage)).toMatchObject({ status: 'refused', refusal: { answer: 401 }, parts: [] })
  })

  test('shows what followers, strangers and mailboxes received, with the files', async () => {
    await gateway.follow('alice@mastodon.test', 'asker')
    expect(await gateway.inbox('bob@mastodon.test')).toEqual([])
    const response = await gateway.send({ via: 'email', from: 'bob@nodmarc.test', to: 'asker', text: 'hello' })
    const [mail, ...otherMails] = await gateway.inbox('bob@nodmarc.test')
    expect(otherMails).toEqual([])
    expect(mail).toMatchObject({ via: 'email', type: 'mail', from: expect.stringContaining('asker@agents.test') })
    expect(mail).toMatchObject({ text: expect.stringMatching(/^Grüße!/), id: response.thread })
    expect(mail?.files.map(({ bytes, ...file }) => ({ ...file, bytes: new Uint8Array(bytes) }))).toMatchObject([
      openingHoursFile,
    ])
    await vi.waitFor(async () => {
      const receivedPost = (await gateway.inbox('@alice@mastodon.test')).find(({ type }) => type === 'Create')
      expect(receivedPost).toMatchObject({
        via: 'activitypub',
        text: expect.stringMatching(/^Open until five\./),
        files: [openingHoursFile],
      })
    })
    expect(await gateway.inbox('bob@mastodon.test')).toEqual([])
  })

  test('refuses the inbox of a caller, and the follow of an unknown agent', async () => {
    await expect(gateway.inbox('peer')).rejects.toThrow('"peer" has no inbox')
    await expect(gateway.follow('alice@mastodon.test', 'nobody')).rejects.toThrow()
    await expect(gateway.follow('peer', 'asker')).rejects.toThrow('Nobody is called peer here')
  })

  test.each(['activitypub', 'a2a', 'email', 'web'] as const)(
    'decides a consent by %s as the sender, and an approval as the operator',
    async via => {
      const response = await gateway.send({ via, to: 'asker', text: 'consent' })
      expect(response.parts).toMatchObject([{ kind: 'policy', policy: { message: 'May I?' } }])
      const grantedReply = await gateway.decide(response, 'granted')
      expect(grantedReply.parts).toMatchObject([{ kind: 'text', content: 'They said granted.' }])
      expect(await gateway.record(grantedReply)).toMatchObject({
        message: { policy_resolution: { resolver: { method: 'link' } } },
      })
      const waitingReply = await gateway.send({ via, to: 'asker', text: 'approval' })
      const { parts } = await gateway.decide(waitingReply, 'declined')
      expect(parts).toMatchObject([{ kind: 'text', content: 'They said declined.' }])
    },
  )

  test.each([
    ['by the result that asked', (response: PeerReply) => response],
    ['by the id of the requirement', (response: PeerReply) => findRequirementId(response)],
  ])('approves the call of a tool with changed arguments, %s', async (_, selectRequirement) => {
    const response = await gateway.send({ via: 'email', to: 'guide', text: 'The weather in Oslo?' })
    const { parts } = await gateway.decide(selectRequirement(response), 'granted', { city: 'Bergen' })
    expect(JSON.stringify(parts)).toContain('a real look at Bergen')
    const [question, answer] = (await gateway.inbox('alice@alice.test')).slice(-2)
    expect([question?.text, answer?.text]).toEqual([expect.any(String), expect.stringContaining('Bergen')])
  })

  test('explains why it cannot decide', async () => {
    const response = await gateway.send({ via: 'a2a', to: 'asker', text: 'consent' })
    await expect(gateway.decide(response, 'granted', { amount: 3 })).rejects.toThrow('there are no arguments to change')
    await gateway.decide(response, 'declined')
    await expect(gateway.decide(response, 'granted')).rejects.toThrow(
      `Message ${response.number} waits for no decision`,
    )
    await expect(gateway.decide('nothing', 'granted')).rejects.toThrow('There is no requirement "nothing"')
  })
})

test.each(['activitypub', 'a2a', 'email'] as const)(
  'a gateway of postern/testing accepts messages by %s after its clock advances, and overdue requirements expire',
  async via => {
    const gateway = await startGateway({ folder: import.meta.dirname, settings })
    const response = await gateway.send({ via, to: 'asker', text: 'consent' })
    const clockBefore = gateway.clock.now()
    gateway.clock.advance(2 * 86_400_000)
    expect(gateway.clock.now() - clockBefore).toBeGreaterThanOrEqual(2 * 86_400_000)
    await vi.waitFor(() => expect(gateway.decide(response, 'granted')).rejects.toThrow('waits for no decision'))
    const { status, number } = await gateway.send({ via, to: 'asker', text: 'hello', timeoutMs: 60_000 })
    expect(['answered', 'completed']).toContain(status)
    const { message } = await gateway.record({ number })
    expect(Date.parse(message.received_at) - clockBefore).toBeGreaterThanOrEqual(2 * 86_400_000)
    await gateway.stop()
  },
)
