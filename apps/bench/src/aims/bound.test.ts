import { expect, test } from 'vitest'
import { formatBound, formatVerdict, isMet } from './bound.ts'

test('isMet() counts the bound itself as met', () => {
  expect(isMet({ atLeast: 0.9 }, 0.9)).toBe(true)
  expect(isMet({ atLeast: 0.9 }, 0.89)).toBe(false)
  expect(isMet({ atMost: 1.5 }, 1.5)).toBe(true)
  expect(isMet({ atMost: 1.5 }, 1.51)).toBe(false)
})

test('isMet() counts a missing figure as not met', () => {
  expect(isMet({ atLeast: 0.9 }, Number.NaN)).toBe(false)
  expect(isMet({ atMost: 1.5 }, Number.NaN)).toBe(false)
})

test('formatBound() writes the sign and groups thousands', () => {
  expect(formatBound({ atLeast: 3_500 })).toBe('≥ 3,500')
  expect(formatBound({ atMost: 0.12 })).toBe('≤ 0.12')
})

test('formatVerdict() says whether a figure meets its bound', () => {
  expect(formatVerdict({ atLeast: 9 }, 12)).toBe('≥ 9 met')
  expect(formatVerdict({ atMost: 1.5 }, 2)).toBe('≤ 1.5 missed')
})
