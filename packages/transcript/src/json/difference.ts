// Computes and applies the difference between two JSON values.
import { createHash } from 'node:crypto'
import type { Json } from '@postern/message'

export type JsonMap = { readonly [name: string]: Json | undefined }

/** The difference between two JSON values. Its members are stored, so their names are short. */
export type JsonDifference =
  /** The new value replaces the old one. */
  | { readonly is: Json }
  | {
      /** The members that are added or replaced. */
      readonly set?: { readonly [name: string]: Json } | undefined
      /** The names of the members that are removed. */
      readonly drop?: readonly string[] | undefined
      /** The differences of the members that change inside. */
      readonly in?: { readonly [name: string]: JsonDifference } | undefined
    }
  /** The differences of the items of a list, by index. */
  | { readonly at: { readonly [index: string]: JsonDifference } }

export function isJsonMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns true if a value from a store or an import is a difference. */
export function isJsonDifference(value: Json): value is JsonDifference & Json {
  if (!isJsonMap(value)) return false
  if (Object.hasOwn(value, 'is')) return value.is !== undefined
  if (Object.hasOwn(value, 'at')) return areDifferences(value.at)
  const { set = {}, drop = [], in: nestedChanges = {} } = value
  return (
    isJsonMap(set) &&
    Array.isArray(drop) &&
    drop.every(name => typeof name === 'string') &&
    areDifferences(nestedChanges)
  )
}

function areDifferences(value: Json | undefined): boolean {
  return isJsonMap(value) && Object.values(value).every(member => member !== undefined && isJsonDifference(member))
}

/** Computes the difference member by member. Returns `undefined` if the values are equal. `patchJson(from, diffJson(from, to))` equals `to`. */
export function diffJson(from: Json, to: Json): JsonDifference | undefined {
  if (from === to) return undefined
  if (isJsonMap(from) && isJsonMap(to)) return diffMaps(from, to)
  if (Array.isArray(from) && Array.isArray(to) && from.length === to.length) return diffLists(from, to)
  return { is: to }
}

/** Applies `difference` to `from`. A change inside a missing member has no effect. */
export function patchJson(from: Json, difference: JsonDifference | undefined): Json {
  if (difference === undefined) return from
  if ('is' in difference) return difference.is
  if ('at' in difference) {
    return Array.isArray(from)
      ? from.map((item, index) => patchJson(item, getOwnMember(difference.at, String(index))))
      : from
  }
  return isJsonMap(from) ? patchMap(from, difference) : from
}

function diffMaps(from: JsonMap, to: JsonMap): JsonDifference | undefined {
  const names = new Set([...listNames(from), ...listNames(to)])
  const set: [string, Json][] = []
  const drop: string[] = []
  const nestedChanges: [string, JsonDifference][] = []
  for (const name of names) {
    const oldValue = getOwnMember(from, name)
    const newValue = getOwnMember(to, name)
    const inner = oldValue === undefined || newValue === undefined ? undefined : diffJson(oldValue, newValue)
    if (newValue === undefined) drop.push(name)
    else if (oldValue === undefined) set.push([name, newValue])
    else if (inner !== undefined) nestedChanges.push([name, inner])
  }
  if (set.length + drop.length + nestedChanges.length === 0) return undefined
  return {
    ...(set.length > 0 && { set: Object.fromEntries(set) }),
    ...(drop.length > 0 && { drop }),
    ...(nestedChanges.length > 0 && { in: Object.fromEntries(nestedChanges) }),
  }
}

function diffLists(from: readonly Json[], to: readonly Json[]): JsonDifference | undefined {
  const changes = to.map((item, index) => [String(index), diffJson(from[index] as Json, item)] as const)
  const changed = changes.filter((change): change is [string, JsonDifference] => change[1] !== undefined)
  return changed.length > 0 ? { at: Object.fromEntries(changed) } : undefined
}

function patchMap(from: JsonMap, difference: Exclude<JsonDifference, { is: Json } | { at: unknown }>): Json {
  const droppedNames = new Set(difference.drop)
  const keptMembers = Object.entries(from).filter(([name, value]) => value !== undefined && !droppedNames.has(name))
  const changed = keptMembers.map(
    ([name, value]) => [name, patchJson(value as Json, getOwnMember(difference.in, name))] as const,
  )
  return Object.fromEntries([...changed, ...Object.entries(difference.set ?? {})])
}

function listNames(map: JsonMap): readonly string[] {
  return Object.keys(map).filter(name => map[name] !== undefined)
}

/** Returns the members that have a value. */
export function presentMembers<Members extends object>(members: Members) {
  const presentEntries = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(presentEntries) as { [Name in keyof Members]: Exclude<Members[Name], undefined> }
}

/** Returns the map's own member, because a message may have a member with the name `constructor`. */
function getOwnMember<Value>(map: { readonly [name: string]: Value } | undefined, name: string): Value | undefined {
  return map !== undefined && Object.hasOwn(map, name) ? map[name] : undefined
}

const maxDepth = 512

/**
 * Copies `value` as plain JSON and leaves out members that are `undefined`. @throws TypeError for a value that JSON cannot represent: a cycle, a
 * lone surrogate, a number that is not finite, an object that is no map
 */
export function copyJson(value: unknown): Json {
  return copyWithin(value, [])
}

function copyWithin(value: unknown, ancestors: readonly unknown[]): Json {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'string' && value.isWellFormed()) return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object' || ancestors.includes(value) || ancestors.length >= maxDepth)
    throw new TypeError('not JSON')
  const path = [...ancestors, value]
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

/** Formats JSON with its members in a fixed order, so that equal values have equal text. */
function formatCanonicalJson(value: Json | undefined): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (member === null || typeof member !== 'object' || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : Number(a > b))))
  })
}

/** Computes the SHA-256 of the canonical JSON of `value` in lower-case hex. The same content has the same hash on every machine. */
export function hashContent(value: Json): string {
  return createHash('sha256').update(formatCanonicalJson(value)).digest('hex')
}
