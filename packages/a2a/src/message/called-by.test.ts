import type { ChannelContext, Turn } from '@postern/pipeline'
import { expect, test } from 'vitest'
import type { Call } from '../endpoint/call.ts'
import { readCalledBy, renderCalledBy } from './called-by.ts'

const origin = 'https://agents.test'
const turn = { message: 7, agent: 'front', correlationId: 'c7', content: {} } as Turn
const calledTurn = { ...turn, content: { called_by: { agent: 'x', message: 5, correlation_id: 'c5' } } } as Turn
const gateway = {
  store: { readTurn: async (message: number) => (message === 7 ? turn : undefined) },
  agents: { origin },
} as unknown as Pick<ChannelContext, 'store' | 'agents'>
const from = (issuer: string, subject = 'front') => ({ caller: { issuer, subject } }) as Pick<Call, 'caller'>
const claim = { called_by: { message: 7, on_behalf: true } }

test('a call with the agent’s own gateway token names its turn', async () => {
  const called_by = { agent: 'front', message: 7, correlation_id: 'c7' }
  expect(await readCalledBy(claim, from(origin), gateway)).toEqual({ called_by: { ...called_by, on_behalf: true } })
  expect(await readCalledBy({ called_by: { message: 7 } }, from(origin), gateway)).toEqual({ called_by })
})

test('a call from a called turn names the message that began the chain', async () => {
  const readTurn = async () => calledTurn
  const { called_by } = await readCalledBy(claim, from(origin), { ...gateway, store: { ...gateway.store, readTurn } })
  expect(called_by).toMatchObject({ message: 7, first_message: 5 })
})

test.each([
  ['another issuer', claim, from('https://issuer.test')],
  ['another agent', claim, from(origin, 'desk')],
  ['an unknown turn', { called_by: { message: 8 } }, from(origin)],
  ['a number that is none', { called_by: { message: '7' } }, from(origin)],
  ['nobody', {}, from(origin)],
])('a caller that claims %s has no turn', async (_, mentionable, call) => {
  expect(await readCalledBy(mentionable, call, gateway)).toEqual({})
})

test('only a card of this gateway gets the number of the turn', () => {
  const calledBy = { message: 7, isOnBehalf: true }
  expect(renderCalledBy({ callingTurn: calledBy }, { card: `${origin}/agents/desk/card`, origin })).toEqual(claim)
  expect(renderCalledBy({ callingTurn: calledBy }, { card: 'https://peer.test/card', origin })).toEqual({})
})
