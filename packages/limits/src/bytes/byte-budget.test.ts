import { Rejection, Unavailable } from '@postern/message'
import { expect, test } from 'vitest'
import { createByteBudget } from './byte-budget.ts'

const refusal = 'Cannot take request: too much at once'
const openBudget = () => createByteBudget({ maxBytes: 1_000, maxBytesPerOwner: 600, refusal })

test('one owner holds a bounded number of bytes without affecting others', () => {
  const budget = openBudget()
  budget.reserve('a').add(500)
  const second = budget.reserve('a')
  expect(() => second.add(101)).toThrow(new Rejection('rate_limited', refusal, { retryAfter: 5 }))
  second.add(100)
  budget.reserve('b').add(400)
})

test('all owners together hold a bounded number of bytes', () => {
  const budget = openBudget()
  budget.reserve('a').add(500)
  budget.reserve('b').add(400)
  const third = budget.reserve('c')
  expect(() => third.add(101)).toThrow(new Unavailable(refusal, { retryAfter: 30 }))
  third.add(100)
})

test('a single hold may have any size, in one step or in many', () => {
  const budget = openBudget()
  const large = budget.reserve('a')
  large.add(900)
  large.add(900)
  expect(() => budget.reserve('b').add(1)).toThrow(refusal)
  large.release()
  budget.reserve('b').add(1)
})

test('a caller can hold released bytes again, and a repeated release counts once', () => {
  const budget = openBudget()
  const first = budget.reserve('a')
  const second = budget.reserve('a')
  first.add(300)
  second.add(300)
  first.release()
  first.release()
  budget.reserve('a').add(300)
  expect(() => budget.reserve('a').add(1)).toThrow(refusal)
})

test('the budget does not count refused bytes', () => {
  const budget = openBudget()
  budget.reserve('a').add(600)
  const refused = budget.reserve('b')
  expect(() => refused.add(401)).toThrow(refusal)
  refused.release()
  budget.reserve('c').add(400)
})
