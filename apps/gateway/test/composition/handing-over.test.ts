import { plainTextOf } from '@postern/message'
import { formatRecord } from '@postern/operator/views'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway } from '../setup/gateway.ts'
import { askWhy } from '../why/ask-why.ts'

// These tests let one agent hand a message over to another agent of the gateway, with the sender's proofs.

let gateway: TestGateway
beforeAll(async () => {
  gateway = await openTestGateway(() => ({
    agents: {
      lobby: { use: '../agents/calling/hand-over.ts' },
      front: { use: '../agents/calling/hand-over.ts' },
      desk: { use: '../agents/calling/handed.ts' },
    },
  }))
})
afterAll(() => gateway.close())

async function postAndRead(text: string, to = '@front@agents.test') {
  const { objectId } = await gateway.simulation.fediverse.deliver({ to, text })
  return eventually(async () => {
    const record = await gateway.readMessage(`${objectId}/activity`).catch(() => undefined)
    return record && record.state !== 'received' && record.state !== 'working' && record
  })
}

test('the called agent learns its caller and the proofs of the sender', async () => {
  const { number, response } = await postAndRead('my order, please')
  expect(JSON.parse(plainTextOf(response?.parts ?? []).replace(/^@\S+ /, ''))).toEqual({
    ...{ sender: '@front@agents.test', by: 'front', message: number },
    ...{ for: '@alice@mastodon.test', verified: true, proofs: 1 },
  })
})

test('an agent at the end of several calls learns the person with whom they began', async () => {
  const { response } = await postAndRead('my order, please', '@lobby@agents.test')
  expect(JSON.parse(plainTextOf(response?.parts ?? []).replace(/^@\S+ /, ''))).toMatchObject({
    ...{ sender: '@front@agents.test', by: 'front', for: '@alice@mastodon.test', verified: true, proofs: 1 },
  })
})

test('the record of a call links both messages, without a copy of the sender', async () => {
  const { number, correlation_id } = await postAndRead('my bill, please')
  const { items } = await gateway.requestOperator<{ items: { message: number; agent: string }[] }>(
    '/messages?agent=desk',
  )
  const [call] = items
  const caller = await gateway.readMessage(`#${number}`)
  expect(caller.steps).toMatchObject([
    { kind: 'stage', name: 'handing over', ms: expect.any(Number) },
    { kind: 'note' },
    { kind: 'call', name: '@desk@agents.test', message: call?.message, ms: expect.any(Number) },
  ])
  expect(formatRecord(caller)).toMatch(new RegExp(`  call @desk@agents\\.test .* #${call?.message}\n`))
  const record = await gateway.readMessage(`#${call?.message}`)
  expect(record.message.called_by).toEqual({ agent: 'front', message: number, correlation_id, on_behalf: true })
  expect(JSON.stringify(record.message)).not.toContain('alice')
  expect(formatRecord(record)).toContain(`called by front in #${number}, on behalf of its sender`)
  const [{ evidence } = { evidence: [] }] = (await askWhy(gateway, `#${number}`)).explanations
  const facts = evidence.map(({ fact }) => fact).join('\n')
  expect(facts).toMatch(new RegExp(`the agent called @desk@agents\\.test \\(#${call?.message}\\), \\d+ ms`))
  expect(facts).toContain('the agent was in the stage "handing over"')
})

test('an agent can only hand over the message of its own turn', async () => {
  const { state, error } = await postAndRead('please cheat')
  expect([state, error]).toEqual(['failed', 'Cannot call agent: "onBehalfOf" takes the message of the turn alone'])
})
