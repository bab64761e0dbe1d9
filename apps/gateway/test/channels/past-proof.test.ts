import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'

// These tests check that an agent sees the earlier senders with the proofs that they had at that time.

let gateway: TestGateway
beforeAll(async () => {
  gateway = await openTestGateway(() => ({ agents: { desk: { use: '../agents/reporting/historian.ts' } } }))
})
afterAll(() => gateway.close())

interface Past {
  readonly turns: readonly {
    readonly role: string
    readonly sender: Readonly<Record<string, unknown>>
    readonly writers?: readonly Readonly<Record<string, unknown>>[]
  }[]
}

test('turns in the history keep the proof with which they arrived', async () => {
  const contextId = randomUUID()
  const sendAgain = async () => {
    const token = await gateway.simulation.a2a.token({ sub: 'carol' })
    const message = { messageId: randomUUID(), contextId, role: 'ROLE_USER', parts: [{ text: 'hello' }] }
    const response = await fetch(`${gateway.url()}/agents/desk/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: `Bearer ${token}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
    })
    const { result } = (await response.json()) as { result: { task: { artifacts: { parts: { text: string }[] }[] } } }
    return JSON.parse(result.task.artifacts[0]?.parts[0]?.text ?? '') as Past
  }
  await sendAgain()
  const { turns } = await sendAgain()
  expect(turns[0]).toMatchObject({
    role: 'user',
    sender: {
      address: '@carol@issuer.test',
      verified: true,
      auth_method: 'a2a-oauth',
      identities: [{ subject: 'carol', issuer: 'https://issuer.test' }],
    },
  })
  expect(turns[1]?.sender).not.toHaveProperty('verified')
})
