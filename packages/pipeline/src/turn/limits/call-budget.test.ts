import { expect, test } from 'vitest'
import { turn } from '../../../test/memory-store.ts'
import type { CallBudget } from '../../ports/turn/call-budget.ts'
import { createCallBudget } from './call-budget.ts'

interface TurnMembers {
  readonly message: number
  readonly token?: number
  /** The number of the message whose turn makes the call. */
  readonly caller?: number
  readonly firstMessage?: number
  readonly hop?: number
}

function createTurn({ message, token = 1, caller, firstMessage, hop }: TurnMembers) {
  const { content } = turn(message)
  const { recipient_capabilities } = content
  const chain = hop === undefined ? {} : { agent_chain: { hop, max_hops: 5, is_final: false } }
  const called_by = { agent: 'a', message: caller ?? 0, first_message: firstMessage, correlation_id: 'c' }
  return {
    message,
    token,
    content: {
      ...content,
      ...(caller !== undefined && { called_by }),
      recipient_capabilities: { ...recipient_capabilities, ...chain },
    },
  }
}

/** Counts the calls that a turn can make before one is refused, up to 50. */
function countCalls(budget: CallBudget, turnMembers: TurnMembers): number {
  for (let calls = 0; calls < 50; calls += 1) {
    try {
      budget.consume(createTurn(turnMembers))
    } catch {
      return calls
    }
  }
  return 50
}

test('a message causes a limited number of calls, and the refusal names the limit and its key', () => {
  const budget = createCallBudget(3)
  expect(countCalls(budget, { message: 7 })).toBe(3)
  expect(() => budget.consume(createTurn({ message: 7 }))).toThrow(
    expect.objectContaining({
      code: 'forbidden',
      message: 'Cannot call agent: message #7 has caused 3 calls, the most that limits.loop.calls_per_message allows',
    }),
  )
  expect(countCalls(budget, { message: 8 })).toBe(3)
})

test('the calls of called agents count for the original message', () => {
  const budget = createCallBudget(6)
  budget.consume(createTurn({ message: 1 }))
  budget.consume(createTurn({ message: 1 }))
  expect(countCalls(budget, { message: 2, caller: 1, hop: 1 })).toBe(4)
  expect(countCalls(budget, { message: 3, caller: 2, firstMessage: 1, hop: 2 })).toBe(0)
  expect(countCalls(budget, { message: 1 })).toBe(0)
})

test('a second attempt at a turn makes its calls again', () => {
  const budget = createCallBudget(3)
  expect(countCalls(budget, { message: 1 })).toBe(3)
  expect(countCalls(budget, { message: 1, token: 2 })).toBe(3)
})

test('a message from another agent has half as many calls with each hop', () => {
  const budget = createCallBudget(8)
  expect([0, 1, 2, 3, 4].map(hop => countCalls(budget, { message: hop + 1, hop }))).toEqual([8, 4, 2, 1, 1])
})

test('the budget drops the count of the oldest message if there are too many', () => {
  const budget = createCallBudget(1)
  expect(countCalls(budget, { message: 1 })).toBe(1)
  for (let message = 2; message <= 10_001; message += 1) budget.consume(createTurn({ message }))
  expect(countCalls(budget, { message: 2 })).toBe(0)
  expect(countCalls(budget, { message: 1 })).toBe(1)
})
