import { expect, test } from 'vitest'
import { checkChainGoesOn, clampAgentChain, isFinalHop, nextHop, renderAgentChain } from './agent-chain.ts'

const chain = (hop: number, max_hops: number, is_final = hop === max_hops) => ({ hop, max_hops, is_final })

test('clampAgentChain() lowers a claimed chain to our hop limit and recomputes is_final (MN-8.3)', () => {
  expect(clampAgentChain({ hop: 2, max_hops: 99 }, 5)).toEqual(chain(2, 5))
  expect(clampAgentChain({ hop: 5, max_hops: 99 }, 5)).toEqual(chain(5, 5, true))
  expect(clampAgentChain({ hop: 2, max_hops: 3, is_final: true } as never, 5)).toEqual(chain(2, 3, false))
  expect(() => clampAgentChain({ hop: 6, max_hops: 99 }, 5)).toThrow(
    expect.objectContaining({
      code: 'forbidden',
      message: 'Cannot take message: agent chain is longer than 5 hops',
    }),
  )
})

test('nextHop() begins a chain with hop 1, and no message raises this gateway’s limit (MN-8.3)', () => {
  expect(nextHop(undefined, 3)).toEqual(chain(1, 3))
  expect(nextHop(chain(1, 9), 2)).toEqual(chain(2, 2, true))
  expect(nextHop(undefined, 1)).toEqual(chain(1, 1, true))
})

test('an agent on the final hop cannot call another agent (MN-8.3)', () => {
  expect(isFinalHop(undefined)).toBe(false)
  expect(isFinalHop(chain(2, 3))).toBe(false)
  // A wrong is_final does not help.
  expect(isFinalHop(chain(3, 3, false))).toBe(true)
  expect(() => checkChainGoesOn(chain(3, 3, false))).toThrow(
    expect.objectContaining({
      code: 'forbidden',
      message: 'Cannot call agent: agent chain is longer than 3 hops',
    }),
  )
  expect(() => checkChainGoesOn(chain(2, 3))).not.toThrow()
})

test('renderAgentChain() states the agent’s position, and tells the last agent to conclude (MN-8.3)', () => {
  expect(renderAgentChain(chain(2, 5))).toBe(
    'Agents are passing this on to each other. You are hop 2 of at most 5. 3 more are possible after you; bring in another agent only where it is needed.',
  )
  expect(renderAgentChain(chain(4, 5))).toContain('1 more is possible')
  expect(renderAgentChain(chain(5, 5))).toBe(
    'Agents are passing this on to each other. You are hop 5 of at most 5. You are the last: conclude with what there is, and call, mention or invite no other agent.',
  )
})
