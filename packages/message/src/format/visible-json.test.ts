import { expect, test } from 'vitest'
import { withoutTurning, writeVisibleJson } from './visible-json.ts'

test('writeVisibleJson() shows invisible characters, and its result parses to the same value', () => {
  const odd = { to: '\u202e71\u202c', '\u200b': ['a\u2028b', '\u{e0041}', '\u3164'], plain: 'ä 😀 "x"\n' }
  const text = writeVisibleJson(odd)
  expect(text).toBe(
    '{"to":"\\u202e71\\u202c","\\u200b":["a\\u2028b","\\udb40\\udc41","\\u3164"],"plain":"ä 😀 \\"x\\"\\n"}',
  )
  expect(JSON.parse(text)).toEqual(odd)
  expect(writeVisibleJson({ a: 1 }, 2)).toBe('{\n  "a": 1\n}')
})

test('withoutTurning() removes marks that reverse the text direction', () => {
  expect(withoutTurning('Pay \u202e001 \u2066x\u2069')).toBe('Pay \ufffd001 \ufffdx\ufffd')
})
