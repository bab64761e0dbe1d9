import { afterAll, beforeAll, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway
beforeAll(async () => {
  gateway = await openA2aGateway()
})
afterAll(() => gateway.close())

const state = 'S'.repeat(43)
const decide = (claim: object) =>
  gateway.sendText('here you are', {
    metadata: { mentionable: { policy_resolution: { in_reply_to_state: state, ...claim } } },
  })

test.each<[string, object, string]>([
  ['state', { in_reply_to_state: state.slice(1) }, 'in_reply_to_state'],
  ['state that is longer than one', { in_reply_to_state: `${state}S` }, 'in_reply_to_state'],
  ['outcome', { outcome: 'maybe' }, 'outcome'],
  ['kind', { kind: 7 }, 'kind'],
  ['receipt', { receipt: {} }, 'receipt'],
  ['receipt that is too long', { receipt: 'r'.repeat(8_193) }, 'receipt'],
  ['reach', { remember: 'for ever' }, 'remember'],
])('the gateway refuses a decision with an invalid %s, and names the member (MN-7.2)', async (_what, claim, member) => {
  const { body } = await decide(claim)
  expect(body.error).toMatchObject({ code: -32602 })
  const field = `message.metadata.mentionable.policy_resolution.${member}`
  expect(JSON.stringify(body.error?.data)).toContain(field)
})

test('the gateway refuses a well-formed decision that no agent asked for (MN-7.2)', async () => {
  const { body } = await decide({ outcome: 'declined', receipt: 'r'.repeat(8_192), remember: 'once' })
  expect(body.error?.message).toBe('Cannot take policy_resolution: in_reply_to_state is not known')
})

test.each([0, 7])('the phase %d of a plan reaches the agent', async phase_id => {
  await gateway.sendText('go', { metadata: { mentionable: { phase_id } } })
  expect(gateway.receivedMessages.at(-1)).toMatchObject({ phase_id })
})

test.each([-1, 1.5, '1'])('the gateway refuses the phase %j of a plan', async phase_id => {
  const { body } = await gateway.sendText('go', { metadata: { mentionable: { phase_id } } })
  expect(body.error).toMatchObject({ code: -32602 })
})
