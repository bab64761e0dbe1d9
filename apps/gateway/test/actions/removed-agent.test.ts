import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway, operatorToken } from '../setup/gateway.ts'
import { askWhy } from '../why/ask-why.ts'

// These tests remove an agent from the configuration while its answers still wait for servers that were unreachable.

let gateway: TestGateway
const mastodon = 'mastodon.test'
const agents = { echo: { use: 'builtin:echo' }, help: { use: 'builtin:help' } }
const isAnswer = ({ wire }: { readonly wire?: unknown }) =>
  (wire as { readonly type?: unknown } | null)?.type !== 'Delete'

beforeAll(async () => {
  gateway = await openTestGateway(() => ({ agents }))
})
afterAll(() => gateway.close())

const listAnswers = async () => (await gateway.deliveries()).filter(isAnswer)

async function retry(id: string): Promise<void> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  const response = await fetch(`${gateway.url()}/operator/api/deliveries/${id}/retry`, { method: 'POST', headers })
  expect(response.status).toBe(200)
}

test('the gateway sends nothing that waits for a removed agent, even on retry, and states the reason', async () => {
  const { fediverse, mail } = gateway.simulation
  const restores = [
    fediverse.disturb(mastodon, { method: 'POST', answer: { status: 503 } }),
    mail.refuse({ code: 451, message: 'try again later' }),
  ]
  await fediverse.deliver({ to: '@echo@agents.test', text: 'hello', visibility: 'direct', from: `alice@${mastodon}` })
  await mail.deliver({ to: 'echo@agents.test', text: 'hello', from: 'alice@alice.test' })
  await eventually(async () => {
    const answers = await listAnswers()
    return answers.length === 2 && answers.every(({ state }) => state === 'later')
  })
  await gateway.restart({ agents: { help: agents.help } })
  for (const restore of restores) restore()
  const dead = await eventually(async () => {
    const answers = await listAnswers()
    return answers.every(({ state }) => state === 'dead') && answers
  })
  const reason = 'its agent "echo" is not configured any more'
  expect(dead.map(({ last_error }) => last_error)).toEqual([reason, reason])
  for (const { id } of dead) await retry(id)
  await eventually(async () => (await listAnswers()).every(({ state }) => state === 'dead'))
  expect((await listAnswers()).map(({ last_error }) => last_error)).toEqual([reason, reason])
  const why = await askWhy(gateway, `d${dead[0]?.id}`)
  expect(why.explanations[0]).toMatchObject({ code: 'sender_removed' })
  expect(why.explanations[0]?.sentence).toContain('the configuration no longer has the agent "echo"')
}, 60_000)

test('the gateway still delivers the Delete of the removed agent’s actor', async () => {
  const farewell = await eventually(async () =>
    (await gateway.deliveries()).find(delivery => !isAnswer(delivery) && delivery.state === 'sent'),
  )
  expect(farewell.wire).toMatchObject({ type: 'Delete', object: 'https://agents.test/agents/echo' })
})

test('a retry sends an answer after the agent is back', async () => {
  await gateway.restart({ agents })
  for (const { id } of await listAnswers()) await retry(id)
  await eventually(async () => (await listAnswers()).every(({ state }) => state === 'sent'))
})
