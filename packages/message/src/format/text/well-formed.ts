// Makes strings well formed, so that every wire and the store can carry them.

/**
 * Returns `value` with each lone surrogate in its strings replaced by U+FFFD, at any depth of lists and plain objects.
 * Strict peers cannot read JSON with a lone surrogate (RFC 8259 §8.2), and PostgreSQL cannot store it. A well-formed
 * value itself is returned and not a copy.
 */
export function toWellFormed<Value>(value: Value): Value
export function toWellFormed(value: unknown): unknown {
  // Nearly every value is well formed, and a check makes no copies.
  return isWellFormed(value) ? value : convert(value)
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (Array.isArray(value)) return value.every(isWellFormed)
  if (!isPlainObject(value)) return true
  for (const name of Object.keys(value)) if (!name.isWellFormed() || !isWellFormed(value[name])) return false
  return true
}

function convert(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(convert)
  if (!isPlainObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name.toWellFormed(), convert(member)]))
}

/** Returns true for a plain object. Instances of classes, such as bytes and dates, define their own JSON form and are left alone. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
