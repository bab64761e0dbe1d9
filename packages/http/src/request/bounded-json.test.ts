import { Rejection } from '@postern/message'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseBoundedJson } from './bounded-json.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const nest = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const rejection = (problem: string) => new Rejection('malformed', `Cannot read body: ${problem}`)

test('parseBoundedJson() accepts what JSON.parse accepts', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), text => {
      expect(parseBoundedJson(bytes(text))).toEqual(JSON.parse(text))
    }),
  )
})

/** Documents whose strings are full of what structure is made of. `name`: of members. */
function someTree(name: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  const string = fc.string({ unit: fc.constantFrom('{', '[', '}', ']', '"', '\\', 'é', '𝄞') })
  const { tree } = fc.letrec<{ tree: unknown }>(tie => ({
    tree: fc.oneof({ maxDepth: 6 }, string, fc.array(tie('tree')), fc.dictionary(name, tie('tree'))),
  }))
  return tree
}

test('parseBoundedJson() measures any document, whatever its names and strings contain', () => {
  const name = fc.string({ unit: fc.constantFrom('{', '[', '}', ']', '"', '\\', 'u', 'é', '𝄞') })
  fc.assert(
    fc.property(someTree(name), value => {
      expect(parseBoundedJson(bytes(JSON.stringify(value)), { maxDepth: depthOf(value) })).toEqual(value)
    }),
    { numRuns: 300 },
  )
})

test('parseBoundedJson() measures the depth of any document, whatever its names contain', () => {
  const name = fc.string({ unit: fc.constantFrom('{', '[', '}', ']', '"', '\\', 'é', '𝄞') })
  fc.assert(
    fc.property(someTree(name), value => {
      const text = bytes(JSON.stringify(value))
      const depth = depthOf(value)
      expect(() => parseBoundedJson(text, { maxDepth: depth })).not.toThrow()
      if (depth > 0) expect(() => parseBoundedJson(text, { maxDepth: depth - 1 })).toThrow(Rejection)
    }),
  )
})

test('parseBoundedJson() accepts 64 levels, and refuses 65 and 40,000 before parsing (A2A-E19)', () => {
  expect(parseBoundedJson(bytes(nest(64)))).toEqual(JSON.parse(nest(64)))
  for (const text of [nest(65), nest(40_000), '{"a":'.repeat(40_000), `{"data":${nest(64)}}`]) {
    expect(() => parseBoundedJson(bytes(text))).toThrow(rejection('nested deeper than 64 levels'))
  }
})

test('parseBoundedJson() does not count adjacent brackets as depth', () => {
  const wide = JSON.stringify(Array.from({ length: 500 }, () => [{}]))
  expect(parseBoundedJson(bytes(wide), { maxDepth: 3 })).toHaveLength(500)
  expect(() => parseBoundedJson(bytes(wide), { maxDepth: 2 })).toThrow(rejection('nested deeper than 2 levels'))
})

test('parseBoundedJson() does not reduce the depth for earlier closing brackets', () => {
  expect(() => parseBoundedJson(bytes(`"${']'.repeat(99)}"${nest(65)}`))).toThrow(
    rejection('nested deeper than 64 levels'),
  )
  expect(() => parseBoundedJson(bytes(']'.repeat(65) + nest(129)))).toThrow(Rejection)
})

test('parseBoundedJson() accepts a byte-order mark (A2A-E15)', () => {
  expect(parseBoundedJson(Uint8Array.of(0xef, 0xbb, 0xbf, ...bytes('{"a":1}')))).toEqual({ a: 1 })
})

test.each([
  ['a lone continuation byte', [0x22, 0x80, 0x22]],
  ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
  ['a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ['a cut character', [0x22, 0xe2, 0x82]],
  ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
])('parseBoundedJson() refuses %s, and continues to work (A2A-E14)', (_, octets) => {
  expect(() => parseBoundedJson(Uint8Array.from(octets))).toThrow(rejection('not valid UTF-8'))
  expect(parseBoundedJson(bytes('"é"'))).toBe('é')
})

test.each(['', ' ', '{bad', '{"token":"s3cret"', '"\\', '"\\"', '[1,]', '{} {}', 'NaN', '\u0000'])(
  'parseBoundedJson() refuses %j without quoting it, even in the cause (A2A-E01, E02)',
  text => {
    const read = () => parseBoundedJson(bytes(text), { label: 'activity' })
    expect(read).toThrow(new Rejection('malformed', 'Cannot read activity: not valid JSON'))
    expect(read).toThrow(expect.toSatisfy((error: Error) => error.cause === undefined))
  },
)

test('parseBoundedJson() treats __proto__ as plain data (A2A-E12)', () => {
  const value = parseBoundedJson(bytes('{"__proto__":{"admin":true}}')) as object
  expect(Object.keys(value)).toEqual(['__proto__'])
  expect('admin' in value).toBe(false)
})

test('parseBoundedJson() parses a slice of a larger buffer', () => {
  expect(parseBoundedJson(bytes(`${nest(99)}[1]${nest(99)}`).subarray(198, 201), { maxDepth: 1 })).toEqual([1])
})

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}
