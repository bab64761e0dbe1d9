import { describe, expect, test } from 'vitest'
import { foldLetters, foldName } from './fold-letters.ts'

describe('foldLetters()', () => {
  test.each([
    ['PayPa1', 'paypal'],
    ['r\u0430ypal', 'raypal'],
    ['\u0440\u0430\u0443\u0440\u0430\u04cf', 'paypal'],
    ['modern', 'modem'],
    ['\uff50\uff41\uff59', 'pay'],
    ['\ud835\udcc5ay', 'pay'],
    ['B\u00fccher', 'bucher'],
    ['\u0578\u0585', 'no'],
  ])('%s reads like %s', (one, other) => {
    expect(foldLetters(one)).toBe(foldLetters(other))
  })
})

test.each([
  ['Alice Ardent', 'ARDENT, Alice'],
  ['Alice  Ardent', '"Alice.Ardent"'],
  ['Alice\u200bArdent', 'AliceArdent'],
  ['Alice Ardent', '\u0410lice \u0410rdent'],
])('foldName() returns the same name for %s and %s', (one, other) => {
  expect(foldName(one)).toBe(foldName(other))
})
