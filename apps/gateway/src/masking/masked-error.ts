// Hides secrets in an error, and keeps its class, its code and its members.
import type { SecretMask } from './secret-mask.ts'

/** Causes are followed this deep, because a chain of causes may be a circle. */
const maxDepth = 8

/** Returns the same error if it quotes no secret, or else a masked error of its class. */
export function maskError(error: unknown, mask: SecretMask, depth = maxDepth): unknown {
  if (!(error instanceof Error)) return mask.hideInAll(error)
  if (depth === 0) return undefined
  const ownNames = Object.getOwnPropertyNames(error) as (keyof Error)[]
  const members = ownNames.map(name => {
    const value: unknown = error[name]
    const maskedValue = Array.isArray(value)
      ? value.map(item => maskError(item, mask, depth - 1))
      : maskError(value, mask, depth - 1)
    return { name, value, hidden: maskedValue }
  })
  const isSame = members.every(({ value, hidden }) =>
    Array.isArray(value) ? value.every((item, index) => item === (hidden as unknown[])[index]) : value === hidden,
  )
  if (isSame) return error
  const maskedError: Error = Object.create(Object.getPrototypeOf(error))
  for (const { name, hidden } of members) {
    const enumerable = Object.prototype.propertyIsEnumerable.call(error, name)
    Object.defineProperty(maskedError, name, { value: hidden, enumerable, configurable: true, writable: true })
  }
  return maskedError
}
