import type { Json } from '@postern/message'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diffJson, hashContent, isJsonDifference, patchJson } from '../index.ts'

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))

describe('diffJson() and patchJson()', () => {
  it('turn any value into any other by its difference', () => {
    fc.assert(
      fc.property(json, json, (from, to) => {
        expect(plain(patchJson(from, plain(diffJson(from, to) ?? null) ?? undefined))).toEqual(plain(to))
      }),
    )
  })

  it('find no difference between equal values with reordered members', () => {
    expect(diffJson({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 })).toBeUndefined()
  })

  it('distinguish equal values of different form', () => {
    fc.assert(fc.property(json, json, (from, to) => isJsonDifference(diffJson(from, to) ?? { drop: [] })))
    for (const odd of [null, [], { at: null }, { in: { a: 1 } }, { drop: [1] }, { set: [] }] as const) {
      expect(isJsonDifference(odd)).toBe(false)
    }
  })

  it('contain only the changed members', () => {
    expect(diffJson({ a: { x: 1, y: 2 }, b: 1 }, { a: { x: 1, y: 3 }, c: null })).toEqual({
      set: { c: null },
      drop: ['b'],
      in: { a: { in: { y: { is: 3 } } } },
    })
  })

  it('handle members named like those of every object', () => {
    const odd = JSON.parse('{"__proto__":{"a":1},"constructor":2}')
    expect(plain(patchJson({}, diffJson({}, odd)))).toEqual(odd)
    expect(diffJson(odd, {})).toEqual({ drop: ['__proto__', 'constructor'] })
  })
})

describe('hashContent()', () => {
  it('is equal for reordered content, and different for other content', () => {
    expect(hashContent({ a: 1, b: 2 })).toBe(hashContent({ b: 2, a: 1 }))
    expect(hashContent({ a: 1 })).not.toBe(hashContent({ a: '1' }))
  })
})
