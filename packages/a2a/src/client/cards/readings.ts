import { isJsonObject } from '@postern/core'

/** The members of a card of 1.0 (A2A §4.4.1). */
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
 * Forms of the card that its signer may have signed, all derived from this card. Some signers drop members at their default. A server with
 * members of 0.3 may have signed only those of 1.0; then only these are used.
 */
export function listReadings(card: object): readonly object[] {
  const entries = Object.entries(card).filter(([name]) => name !== 'signatures')
  const own = entries.filter(([name]) => ownMembers.has(name))
  const isMixed = own.length < entries.length && Object.hasOwn(card, 'supportedInterfaces')
  const wholes = isMixed ? [card, Object.fromEntries(own)] : [card]
  return wholes.flatMap(whole => [whole, ...droppings.map(drop => drop(whole))])
}

type Dropping = (value: object) => object

const isEmpty = (value: unknown) =>
  value === null ||
  value === undefined ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)
const isDefault = (value: unknown) => value === false || value === 0 || isEmpty(value)

/**
 * Protobuf drops members at their default. Some signers also drop them inside lists, maps and the `params` of extensions. a2a-python drops
 * everything empty, and keeps `false` and 0 if they are set.
 */
const droppings: readonly Dropping[] = [dropMessageDefaults, dropDefaults, value => dropEverywhere(value, isEmpty)]

/** The card without members at their default, wherever they are (A2A §8.4.1). */
export function dropDefaults(value: object): object {
  return dropEverywhere(value, isDefault)
}

function dropEverywhere(value: object, isDropped: (member: unknown) => boolean): object {
  const dropWithin = (member: unknown): unknown => {
    if (Array.isArray(member)) return member.map(dropWithin).filter(item => !isDropped(item))
    return isJsonObject(member) ? dropEverywhere(member, isDropped) : member
  }
  const kept = Object.entries(value).map(([name, member]) => [name, dropWithin(member)] as const)
  return Object.fromEntries(kept.filter(([, member]) => !isDropped(member)))
}

/** Members of a card that are maps, or the Struct of an extension. Their own members are no fields of a message. */
const maps: ReadonlySet<string> = new Set(['securitySchemes', 'schemes', 'scopes'])
const struct = 'params'

function dropMessageDefaults(message: object): object {
  const kept = Object.entries(message).map(([name, member]) => [name, dropInField(name, member)] as const)
  return Object.fromEntries(kept.filter(([name, member]) => name === struct || !isDefault(member)))
}

function dropInField(name: string, member: unknown): unknown {
  if (name === struct) return member
  if (Array.isArray(member)) return member.map(dropInItem)
  if (!isJsonObject(member)) return member
  if (!maps.has(name)) return dropMessageDefaults(member)
  return Object.fromEntries(Object.entries(member).map(([key, item]) => [key, dropInItem(item)]))
}

function dropInItem(item: unknown): unknown {
  return isJsonObject(item) ? dropMessageDefaults(item) : item
}
