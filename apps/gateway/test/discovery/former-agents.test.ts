import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { gatewayOrigin, openTestGateway } from '../setup/gateway.ts'

// These tests look from outside at an agent that was once configured and no longer exists.

let gateway: TestGateway
const agents = { echo: { use: 'builtin:echo' }, help: { use: 'builtin:help' } }
const answerOf = (path: string, accept = '*/*') => fetch(`${gateway.url()}${path}`, { headers: { accept } })
const actor = 'application/activity+json'

beforeAll(async () => {
  gateway = await openTestGateway(() => ({ agents: { ...agents } }))
  expect((await answerOf('/agents/echo', actor)).status).toBe(200)
  await gateway.simulation.send({ via: 'activitypub', to: 'echo', text: 'hello' })
  await gateway.restart({ agents: { help: agents.help } })
})
afterAll(() => gateway.close())

test.each([`acct:echo@agents.test`, `${gatewayOrigin}/agents/echo`])('WebFinger of %s answers 410', async resource => {
  expect((await answerOf(`/.well-known/webfinger?resource=${resource}`)).status).toBe(410)
})

test.each(['acct:nobody@agents.test', 'acct:echo@other.test'])('WebFinger does not know %s', async resource => {
  expect((await answerOf(`/.well-known/webfinger?resource=${resource}`)).status).toBe(404)
})

test('the posts and page of a former agent answer 410, and its actor is a Tombstone', async () => {
  expect(await (await answerOf('/agents/echo', actor)).json()).toMatchObject({ type: 'Tombstone' })
  expect((await answerOf('/agents/echo/posts/1')).status).toBe(410)
  const page = await answerOf('/agents/echo', 'text/html')
  expect({ status: page.status, type: page.headers.get('content-type') }).toEqual({
    status: 410,
    type: 'application/problem+json',
  })
})

test('other agents still answer', async () => {
  expect((await answerOf('/agents/help', actor)).status).toBe(200)
  expect((await answerOf('/.well-known/webfinger?resource=acct:help@agents.test')).status).toBe(200)
})

test('a person whom the former agent has answered learns of its end', async () => {
  const deleted = async () =>
    (await gateway.deliveries()).filter(({ wire }) => (wire as { readonly type?: unknown } | null)?.type === 'Delete')
  await vi.waitFor(async () => expect(await deleted()).toMatchObject([{ state: 'sent' }]), { timeout: 20_000 })
  const actorIri = `${gatewayOrigin}/agents/echo`
  expect((await deleted())[0]?.wire).toMatchObject({ actor: actorIri, object: actorIri })
})
