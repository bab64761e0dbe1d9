import { isObject } from '../validate/shape.ts'

/** What a card of 1.0 holds (A2A §4.4.1). */
const ownMembers: ReadonlySet<string> = new Set([
  'name',
  'description',
  'version',
  'supportedInterfaces',
  'provider',
  'documentationUrl',
  'iconUrl',
  'capabilities',
  'securitySchemes',
  'securityRequirements',
  'defaultInputModes',
  'defaultOutputModes',
  'skills',
])

/**
 * What its signer may have signed, all of it read out of this very card: signers differ in whether they drop members at their
 * default, and one that serves members of 0.3 too may have signed those of 1.0: then nothing but these is used.
 */
export function listReadings(card: object): readonly object[] {
  const entries = Object.entries(card).filter(([name]) => name !== 'signatures')
  const own = entries.filter(([name]) => ownMembers.has(name))
  const isMixed = own.length < entries.length && Object.hasOwn(card, 'supportedInterfaces')
  const wholes = isMixed ? [card, Object.fromEntries(own)] : [card]
  return wholes.flatMap(whole => [whole, dropDefaults(whole)])
}

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
