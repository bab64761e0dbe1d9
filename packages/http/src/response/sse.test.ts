import { expect, test } from 'vitest'
import { toSseJson } from './sse.ts'

test('toSseJson() writes one line by every rule of Unicode, with the same value', () => {
  const ends = '\n\v\f\r\u001c\u001d\u001e\u0085\u2028\u2029'
  const value = { [ends]: [ends, '\\u2028', 1] }
  for (const end of ends) expect(toSseJson(value)).not.toContain(end)
  expect(JSON.parse(toSseJson(value))).toEqual(value)
})
