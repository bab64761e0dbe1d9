import { expect, test } from 'vitest'
import { formatFigures } from './figure.ts'

test('formatFigures() states the basis of each ratio, and whether it meets its target', () => {
  const sharedFields = { case: 'Flood', note: '', unit: 'ms' }
  const text = formatFigures([
    { ...sharedFields, name: 'alone', value: 4 },
    {
      ...sharedFields,
      name: 'forged',
      value: 9,
      referenceValue: 4,
      ratio: 2.25,
      ratioLabel: '÷ alone',
      aim: { atMost: 2 },
    },
    { ...sharedFields, name: 'rate', value: 120.4, ratio: 0.9, ratioLabel: '÷ floor', aim: { atLeast: 0.8 } },
  ])
  expect(text.split('\n').slice(1, 4)).toEqual([
    'Flood  alone      4.0             ms',
    '       forged     9.0        4.0  ms  2.25 ÷ alone  ≤ 2 missed',
    '       rate       120             ms  0.90 ÷ floor   ≥ 0.8 met',
  ])
})
