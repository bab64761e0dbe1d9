// Recognizes mail in which a list put its own address into From, by the other fields that name the author.
import type { HeaderBlock } from '../mail/header.ts'
import { fieldValues } from '../mail/header.ts'
import type { Mailbox } from '../mail/mailbox.ts'
import { formatMailbox, parseMailbox } from '../mail/mailbox.ts'

/** Fields in which a list that rewrites From preserves the author (RFC 9057, Google Groups, Sympa). */
export const originalAuthorFields = ['author', 'x-original-from', 'original-from'] as const

/** Fields in which a list names its own mailbox for bounces and complaints. */
const bounceFields = ['sender', 'errors-to'] as const

/** Matches the prefixes and suffixes that lists give to their command mailboxes. */
const commandAffix =
  /^owner-|[-+](?:admin|bounces?|confirm|help|join|leave|off|on|owner|request|sub|subscribe|unsub|unsubscribe)(?:[-+=].*)?$/i

/**
 * Returns true if a list wrote its own address into From: another field names a different author, or the bounces go to
 * a command mailbox of the list in From.
 */
export function hasRewrittenFrom(header: HeaderBlock): boolean {
  const from = readMailboxes(header, ['from']).at(-1)
  if (!from) return false
  const isOtherThanFrom = (mailbox: Mailbox) => !isSameMailbox(mailbox, from)
  const equalsFrom = (mailbox: Mailbox) => isSameMailbox(mailbox, from)
  return (
    readMailboxes(header, originalAuthorFields).some(isOtherThanFrom) ||
    readMailboxes(header, bounceFields).flatMap(findListOfCommandMailbox).some(equalsFrom)
  )
}

/**
 * Returns the list whose commands a mailbox accepts: `team@…` for `team-bounces@…` (RFC 2142 §6). The result is empty
 * for any other mailbox.
 */
export function findListOfCommandMailbox({ local, domain }: Mailbox): readonly Mailbox[] {
  const name = local.replace(commandAffix, '')
  return name && name !== local ? [{ local: name, domain }] : []
}

/** The longest part of a field that is read, in characters. */
export const maxFieldChars = 4096

/** Reads the mailboxes of all fields with these names. It accepts any text around the mailboxes. */
export function readMailboxes(header: HeaderBlock, names: readonly string[]): readonly Mailbox[] {
  const values = names.flatMap(name => fieldValues(header, name))
  const pieces = values.flatMap(value => value.slice(0, maxFieldChars).split(/[\s<>(),;?"]+|mailto:/i))
  return pieces.flatMap(piece => (piece.includes('@') ? (parseMailbox(piece) ?? []) : []))
}

/** Returns true if two mailboxes are equal, regardless of case. */
export function isSameMailbox(left: Mailbox, right: Mailbox): boolean {
  return formatMailbox(left).toLowerCase() === formatMailbox(right).toLowerCase()
}
