import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseJsonText } from './json.ts'

/** Writes every member name with an escape, so that the other parser reads the text. */
function escapeNames(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(escapeNames).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, child]) => `${escapeName(name)} \n: ${escapeNames(child)}`)
  return `{${members.join(',')}}`
}

function escapeName(name: string): string {
  const units = Array.from({ length: name.length }, (_, index) => name.charCodeAt(index).toString(16).padStart(4, '0'))
  return `"${units.map(unit => `\\u${unit}`).join('')}"`
}

test('an earlier document never affects the result of a later one', () => {
  expect(parseJsonText('{"zz":0,"\\\\u":1}')).toEqual({ zz: 0, '\\u': 1 })
  expect(parseJsonText('{"zz":0,"\\u0069d":1}')).toEqual({ zz: 0, id: 1 })
  expect(parseJsonText('[{"zz":0,"\\\\u":1},{"zz":0,"\\u0069d":1}]')).toEqual([
    { zz: 0, '\\u': 1 },
    { zz: 0, id: 1 },
  ])
})

const name = fc.string({
  unit: fc.constantFrom('{', ']', ':', '"', '\\', 'u', '0', 'é', '𝄞', '\n', '\ud800'),
  maxLength: 4,
})
const { tree } = fc.letrec<{ tree: unknown }>(tie => ({
  tree: fc.oneof({ maxDepth: 5 }, fc.jsonValue(), name, fc.array(tie('tree')), fc.dictionary(name, tie('tree'))),
}))

test('parseJsonText() reads every output of JSON.stringify(), with and without escaped names', () => {
  fc.assert(
    fc.property(tree, value => {
      const text = JSON.stringify(value)
      const copy = structuredClone(value)
      for (const variant of [text, escapeNames(value)])
        expect(JSON.stringify(parseJsonText(variant))).toBe(JSON.stringify(copy))
    }),
    { numRuns: 500 },
  )
})

const edgeCases = [
  '',
  ' ',
  '{',
  '{"\\u0061"}',
  '{"\\u0061":}',
  '{"\\u0061":1,}',
  '{"\\u0061":1}}',
  '{"\\u0061":01}',
  '{"\\u0061":+1}',
  '{"\\u0061":.5}',
  '{"\\u0061":1.}',
  '{"\\u0061":1e}',
  '{"\\u0061":-}',
  '{"\\u0061":NaN}',
  '{"\\u0061":Infinity}',
  '{"\\u0061":0x10}',
  '{"\\u0061":tru}',
  '{"\\u0061":nullx}',
  "{'\\u0061':1}",
  '{\\u0061:1}',
  '{"\\u006":1}',
  '{"\\x61":1}',
  '{"\\u0061":"\t"}',
  '{"\\u0061":"\u0001"}',
  '{"\\u0061\n":1}',
  '{"\\u0061":1 /* no */}',
  '{"\\u0061":1}//',
  '\ufeff{"\\u0061":1}',
  '{"\\u0061":[1,]}',
  '{"\\u0061":[,1]}',
  '{"\\u0061" 1}',
  '{"\\u0061":1 "b":2}',
  '{,"\\u0061":1}',
  '{"\\u0061":"\\"}',
  '["\\u0061":1]',
  '\u00a0{"\\u0061":1}',
  '{"\\u0061"\u2028:1}',
  '{"\\u0061":"\\a"}',
  '{"\\u0061":1',
  '{"\\u0061":"',
  '"\\u0061":1',
  '{"\\u0061":-0}',
  '{"\\u0061":1E+2}',
  '{"\\u0061":1e999}',
  '{"\\u0061":"\u2028\u007f"}',
  ' {"\\u0061":\t[ ]\r\n} ',
  '{"\\u0061":1,"a":2}',
  '{"a":{"b":1},"\\u0061":{"b":1}}',
  '{"\\u005f_proto__":{"x":1}}',
  '{"\\u0061":null,"a":null}',
]

/** Parses an equivalent text without the escape, which the runtime's own parser reads correctly. */
function readNatively(text: string): unknown {
  return JSON.parse(text.replaceAll('\\u0061', 'a').replaceAll('\\u005f', '_'))
}

function outcome(read: () => unknown): unknown {
  try {
    return { value: read() }
  } catch (error) {
    return error instanceof SyntaxError ? 'SyntaxError' : error
  }
}

test.each(edgeCases)('parseJsonText() is as strict as RFC 8259: %j', text => {
  const read = outcome(() => parseJsonText(text))
  expect(read).toEqual(outcome(() => readNatively(text)))
  if (typeof read === 'object') expect(Object.getPrototypeOf((read as { value: object }).value)).toBe(Object.prototype)
})

test('parseJsonText() takes linear time for a text with an escaped name', () => {
  const measure = (count: number) => {
    const text = `{"\\u0061":"${'x'.repeat(count)}",${Array.from({ length: count / 10 }, (_, at) => `"b\\n${at}" :\t[${at}]`)}}`
    const start = process.threadCpuUsage()
    for (let round = 0; round < 3; round += 1) parseJsonText(text)
    const { user, system } = process.threadCpuUsage(start)
    return user + system
  }
  measure(20_000)
  const minTime = (count: number) => Math.min(...[1, 2, 3, 4].map(() => measure(count)))
  // Quadratic time would be 64 times as long. A smaller text fits into the processor's caches, so it is faster than its size suggests.
  expect(minTime(320_000) / minTime(40_000)).toBeLessThan(30)
})
