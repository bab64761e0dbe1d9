// Removes members at their default from agent cards, as the signers of cards do.
import { isJsonObject } from '@postern/message'

const isEmpty = (value: unknown) =>
  value === null ||
  value === undefined ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)
const isDefault = (value: unknown) => value === false || value === 0 || isEmpty(value)

/**
 * The functions that drop members as different signers do. Protobuf drops members at their default. Some signers also drop them inside lists, maps
 * and the `params` of extensions. a2a-python drops everything empty, and keeps `false` and 0 if they are set.
 */
export const defaultDroppers: readonly ((card: object) => object)[] = [
  dropMessageDefaults,
  dropDefaults,
  value => dropMembers(value, isEmpty),
]

/** Returns the card without members at their default, at any depth (A2A §8.4.1). */
export function dropDefaults(value: object): object {
  return dropMembers(value, isDefault)
}

function dropMembers(value: object, isDropped: (member: unknown) => boolean): object {
  const dropWithin = (member: unknown): unknown => {
    if (Array.isArray(member)) return member.map(dropWithin).filter(item => !isDropped(item))
    return isJsonObject(member) ? dropMembers(member, isDropped) : member
  }
  const entries = Object.entries(value).map(([name, member]) => [name, dropWithin(member)] as const)
  return Object.fromEntries(entries.filter(([, member]) => !isDropped(member)))
}

/** The members of a card that are maps. Their keys are not fields of a message. */
const mapMembers: ReadonlySet<string> = new Set(['securitySchemes', 'schemes', 'scopes'])
/** The member of an extension that is a Struct. Its members are not fields of a message. */
const structMember = 'params'

function dropMessageDefaults(message: object): object {
  const entries = Object.entries(message).map(([name, member]) => [name, dropInField(name, member)] as const)
  return Object.fromEntries(entries.filter(([name, member]) => name === structMember || !isDefault(member)))
}

function dropInField(name: string, member: unknown): unknown {
  if (name === structMember) return member
  if (Array.isArray(member)) return member.map(dropInItem)
  if (!isJsonObject(member)) return member
  if (!mapMembers.has(name)) return dropMessageDefaults(member)
  return Object.fromEntries(Object.entries(member).map(([key, item]) => [key, dropInItem(item)]))
}

function dropInItem(item: unknown): unknown {
  return isJsonObject(item) ? dropMessageDefaults(item) : item
}
