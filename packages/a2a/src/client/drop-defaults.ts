import { isObject } from '../validate/shape.ts'

/** The card without members at their default, as some implementations sign it (A2A §8.4.1). */
export function dropDefaults(value: object): object {
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, dropWithin(member)] as const)
      .filter(([, member]) => !isDefault(member)),
  )
}

function dropWithin(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropWithin).filter(item => !isDefault(item))
  return isObject(value) ? dropDefaults(value) : value
}

function isDefault(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '' || value === 0) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}
