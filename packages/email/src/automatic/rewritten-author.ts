// Recognizes mail in which a list put its own address into From, by the fields that remain of the author.
import type { HeaderBlock } from '../mail/header.ts'
import { fieldValues } from '../mail/header.ts'
import type { Mailbox } from '../mail/mailbox.ts'
import { formatMailbox, parseMailbox } from '../mail/mailbox.ts'

/** Fields in which a list that rewrites From keeps the author (RFC 9057, Google Groups, Sympa). */
export const originalAuthorFields = ['author', 'x-original-from', 'original-from'] as const

/** Fields in which a list names its own mailbox for bounces and complaints. */
const bounceFields = ['sender', 'errors-to'] as const

const commandMark =
  /^owner-|[-+](?:admin|bounces?|confirm|help|join|leave|off|on|owner|request|sub|subscribe|unsub|unsubscribe)(?:[-+=].*)?$/i

/** Returns true if a list wrote its own address into From: a field keeps another author, or the bounces go to a command mailbox of From. */
export function hasRewrittenFrom(header: HeaderBlock): boolean {
  const from = readMailboxes(header, ['from']).at(-1)
  if (!from) return false
  const isOther = (mailbox: Mailbox) => !isSameMailbox(mailbox, from)
  const isOfFrom = (mailbox: Mailbox) => isSameMailbox(mailbox, from)
  return (
    readMailboxes(header, originalAuthorFields).some(isOther) ||
    readMailboxes(header, bounceFields).flatMap(findCommandedList).some(isOfFrom)
  )
}

/** Returns the list whose commands a mailbox takes: `team@…` for `team-bounces@…` (RFC 2142 §6), or none. */
export function findCommandedList({ local, domain }: Mailbox): readonly Mailbox[] {
  const name = local.replace(commandMark, '')
  return name && name !== local ? [{ local: name, domain }] : []
}

/** The longest part of a field that is read, in characters. */
export const maxFieldChars = 4096

export function readMailboxes(header: HeaderBlock, names: readonly string[]): readonly Mailbox[] {
  const values = names.flatMap(name => fieldValues(header, name))
  const pieces = values.flatMap(value => value.slice(0, maxFieldChars).split(/[\s<>(),;?"]+|mailto:/i))
  return pieces.flatMap(word => (word.includes('@') ? (parseMailbox(word) ?? []) : []))
}

export function isSameMailbox(left: Mailbox, right: Mailbox): boolean {
  return formatMailbox(left).toLowerCase() === formatMailbox(right).toLowerCase()
}
