// Makes strings well formed, so that every wire and the store can carry them.

/**
 * Returns `value` with each lone surrogate in its strings replaced by U+FFFD, at any depth of lists and plain objects.
 * Strict peers cannot read JSON with a lone surrogate (RFC 8259 §8.2), and PostgreSQL cannot store it. A well-formed
 * value itself is returned and not a copy.
 */
export function toWellFormed<Value>(value: Value): Value
export function toWellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed()
  if (Array.isArray(value)) return listWellFormed(value)
  return isPlainObject(value) ? objectWellFormed(value) : value
}

function listWellFormed(items: readonly unknown[]): readonly unknown[] {
  const converted = items.map(toWellFormed)
  return converted.every((item, index) => item === items[index]) ? items : converted
}

function objectWellFormed(object: Readonly<Record<string, unknown>>): unknown {
  let isSame = true
  const members = Object.entries(object).map(([name, member]): [string, unknown] => {
    const convertedMember = [name.toWellFormed(), toWellFormed(member)] as const
    if (convertedMember[0] !== name || convertedMember[1] !== member) isSame = false
    return [...convertedMember]
  })
  return isSame ? object : Object.fromEntries(members)
}

/** Returns true for a plain object. Instances of classes, such as bytes and dates, define their own JSON form and are left alone. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
