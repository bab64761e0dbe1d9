import type { Address } from '../message/address/address.ts'
import { formatAddress, parseAddress } from '../message/address/address.ts'
import { isPersonal } from '../message/address/personal-flags.ts'
import type { NormalizedMessage } from '../message/message.ts'
import type { PersonAddress, PersonIdentity } from '../ports/records/people.ts'

/** The principal of somebody who chats, as an issuer's token names him: the owner of all that is his. */
export function formatChatOwner(issuer: string, subject: string): string {
  return `web:${JSON.stringify([issuer, subject])}`
}

/**
 * Who is speaking, when his channel has proven that the address itself is his: a transport proof of assurance `address`, or the token of
 * who chats. A domain that vouches for its users as a whole is not enough.
 */
export function readPersonIdentity(
  { sender, received_via: via }: NormalizedMessage,
  flags: readonly string[],
): PersonIdentity | undefined {
  if (!sender.verified || !isPersonal(flags)) return undefined
  const wanted = via === 'web' ? 'oauth' : 'address'
  const proven = sender.identities?.find(({ proof, assurance }) => proof.type === 'transport' && assurance === wanted)
  const address = proven && toAddress(sender.address)
  if (!address || address.local.startsWith('~')) return undefined
  if (via === 'web') {
    return { via, address: formatAddress(address), subject: formatChatOwner(proven.issuer, proven.subject) }
  }
  if (via === 'activitypub') return { via, address: formatAddress(address), subject: proven.subject }
  const subject = mailSubject(address)
  const isOwn = via === 'email' && proven.subject.toLowerCase() === subject
  return isOwn ? { via, address: formatAddress(address), subject } : undefined
}

/**
 * `@name@host`, `acct:name@host` or `https://host/@name` is of the fediverse, whose programs leave of a mention often no more than the name;
 * `name@host` is a mailbox; `web.<domain>` and what is below are hosts of those who chat. Undefined for what is neither.
 */
export function readPersonAddress(text: string, domain?: string): PersonAddress | undefined {
  const bare = text
    .replace(/^<(.*)>$/, '$1')
    .replace(/^mailto:/i, '')
    .replace(/^https:\/\/([^/@]+)\/@([^/@]+)\/?$/i, '@$2@$1')
  const address = toAddress(bare)
  if (!address) return undefined
  if (domain !== undefined && `.${address.domain}`.endsWith(`.web.${domain}`)) {
    return { via: 'web', address: formatAddress(address) }
  }
  if (/^(@|acct:)/i.test(bare)) return { via: 'activitypub', address: formatAddress(address) }
  return { via: 'email', address: formatAddress(address), subject: mailSubject(address) }
}

/** As people write it: with an `@` in front where it is of the fediverse. */
export function showPersonAddress({ via, address }: PersonAddress): string {
  return via === 'email' ? address.slice(1) : address
}

function mailSubject({ local, domain }: Address): string {
  return `mailto:${local}@${domain}`
}

function toAddress(text: string): Address | undefined {
  try {
    return parseAddress(text)
  } catch {
    return undefined
  }
}
