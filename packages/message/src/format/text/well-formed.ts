// Makes strings well formed, so that every wire and the store can carry them.

/**
 * Returns `value` with each lone surrogate in its strings replaced by U+FFFD, at any depth of lists and plain objects.
 * JSON with a lone surrogate cannot be read by strict peers (RFC 8259 §8.2) and cannot be stored by PostgreSQL. A
 * value that is well formed comes back as it is, without a copy.
 */
export function toWellFormed<Value>(value: Value): Value
export function toWellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed()
  if (Array.isArray(value)) return listWellFormed(value)
  return isPlainObject(value) ? objectWellFormed(value) : value
}

function listWellFormed(items: readonly unknown[]): readonly unknown[] {
  const changed = items.map(toWellFormed)
  return changed.every((item, index) => item === items[index]) ? items : changed
}

function objectWellFormed(object: Readonly<Record<string, unknown>>): unknown {
  let isSame = true
  const members = Object.entries(object).map(([name, member]): [string, unknown] => {
    const changed = [name.toWellFormed(), toWellFormed(member)] as const
    if (changed[0] !== name || changed[1] !== member) isSame = false
    return [...changed]
  })
  return isSame ? object : Object.fromEntries(members)
}

/** Objects of a class, such as bytes and dates, say themselves what they are as JSON. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
