import { createHash } from 'node:crypto'
import type { AgentDirectory } from '@postern/core'
import { formatMailbox } from '../../addresses/mailbox.ts'
import { findRecipient } from '../../addresses/recipients.ts'
import { isUnread } from '../../automatic/facts.ts'
import type { ProvenMail } from '../../proven/mail.ts'

/** Further people an answer may go to. */
const maxOthers = 20

/**
 * The further recipients with reply_all: people in To and Cc of a mail whose signature covers both, so that strangers
 * cannot be mailed. It leaves out our own agents and addresses that nobody reads. None when there are too many: that is
 * a crowd.
 */
export function findOthers(
  { addresses, authentication, header }: ProvenMail,
  agents: AgentDirectory,
): readonly string[] {
  const { author, to, cc } = addresses
  const covers = authentication.signature?.covers ?? []
  const named = header.fields.map(({ name }) => name).filter(name => name === 'to' || name === 'cc')
  if (!authentication.isVerified || !named.every(name => covers.includes(name))) return []
  const people = [...to, ...cc].filter(mailbox => !isUnread(mailbox))
  const others = new Set(people.map(formatMailbox).filter(address => !findRecipient(address, agents)))
  others.delete(formatMailbox(author))
  return others.size > maxOthers ? [] : [...others]
}

/**
 * The participants limit the conversations that a message can join: a guessed or forwarded id opens no conversation of
 * others. Proven and unproven authors never share one. A conversation with others belongs to exactly these people.
 */
export function scopeOf({ addresses: { author }, authentication }: ProvenMail, others: readonly string[]): string {
  const people = [formatMailbox(author), ...others].toSorted().join(',')
  const name = others.length > 0 ? `group ${createHash('sha256').update(people).digest('hex')}` : people
  return authentication.isVerified ? scopeOfMailbox(name) : `u:${name}`
}

/** Conversations of this mailbox alone, proven. */
export function scopeOfMailbox(mailbox: string): string {
  return `v:${mailbox}`
}
