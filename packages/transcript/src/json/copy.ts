import type { Json } from '@postern/core'

const maxDepth = 512

/**
 * `value` as plain JSON, members that are `undefined` left out.
 * @throws TypeError for what JSON cannot hold: a cycle, a lone surrogate, a number that is not finite, an object that is no map
 */
export function copyJson(value: unknown): Json {
  return copyWithin(value, [])
}

function copyWithin(value: unknown, above: readonly unknown[]): Json {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'string' && value.isWellFormed()) return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object' || above.includes(value) || above.length >= maxDepth) throw new TypeError('not JSON')
  const path = [...above, value]
  if (Array.isArray(value)) return value.map(item => copyWithin(item, path))
  return copyMap(value, path)
}

function copyMap(map: object, path: readonly unknown[]): Json {
  const prototype: unknown = Object.getPrototypeOf(map)
  if (prototype !== null && prototype !== Object.prototype) throw new TypeError('not JSON')
  const members = Object.entries(map).filter(([, member]) => member !== undefined)
  if (members.some(([name]) => !name.isWellFormed())) throw new TypeError('not JSON')
  return Object.fromEntries(members.map(([name, member]) => [name, copyWithin(member, path)]))
}
