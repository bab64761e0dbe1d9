// Indexes the mailboxes that an agent knows by domain and by name.

import { domainToUnicode } from 'node:url'
import type { Mailbox } from '../mail/mailbox.ts'
import { foldLetters, foldName } from './fold-letters.ts'
import type { KnownDomain } from './likeness.ts'

/**
 * The maximum number of mailboxes of an agent, and of one domain. Without the second limit, the owner of one domain
 * could evict the mailboxes of everybody else.
 */
const [maxMailboxes, maxMailboxesPerDomain] = [10_000, 1_000]

/**
 * Returns the mailbox that an additional mailbox would replace: the oldest mailbox of its domain, or of all domains. It
 * returns undefined below the limits.
 */
export function findEvictedPeer({ entries, domains }: AddressBook, { domain }: Mailbox): string | undefined {
  const { locals } = domains.get(domain) ?? {}
  if (locals && locals.size >= maxMailboxesPerDomain) return locals.values().next().value?.peer
  return entries.size >= maxMailboxes ? entries.keys().next().value : undefined
}

/** A mailbox that an agent knows. */
export interface KnownMailbox extends Pick<Mailbox, 'domain' | 'name'> {
  /** The local part without its tag, in lower case. */
  readonly baseLocal: string
  /** The folded display name. It is empty if the mailbox has no name. */
  readonly foldedName: string
}

export type AddressBook = ReturnType<typeof createAddressBook>

/** Creates an address book with an index of domains and an index of names. */
export function createAddressBook() {
  /** Entries by address, in the order in which the agent came to know them. */
  const entries = new Map<string, KnownMailbox>()
  const domains = new Map<string, KnownDomain>()
  /** Addresses by folded name. */
  const names = new Map<string, Set<string>>()

  function add(peer: string, name: string | undefined): void {
    remove(peer)
    const atIndex = peer.lastIndexOf('@')
    const entry = {
      baseLocal: removeSubaddress(peer.slice(0, atIndex)),
      domain: peer.slice(atIndex + 1),
      name,
      foldedName: foldName(name ?? ''),
    }
    entries.set(peer, entry)
    const knownDomain = domains.get(entry.domain) ?? describeDomain(entry.domain)
    domains.set(entry.domain, knownDomain)
    if (!knownDomain.locals.has(entry.baseLocal))
      knownDomain.locals.set(entry.baseLocal, { peer, foldedBaseLocal: foldLetters(entry.baseLocal) })
    if (entry.foldedName) names.set(entry.foldedName, (names.get(entry.foldedName) ?? new Set()).add(peer))
  }

  function remove(peer: string): void {
    const entry = entries.get(peer)
    if (!entry) return
    entries.delete(peer)
    const { locals } = domains.get(entry.domain) ?? {}
    if (locals?.get(entry.baseLocal)?.peer === peer) locals.delete(entry.baseLocal)
    if (locals?.size === 0) domains.delete(entry.domain)
    const peersOfName = names.get(entry.foldedName)
    peersOfName?.delete(peer)
    if (peersOfName?.size === 0) names.delete(entry.foldedName)
  }

  /** Finds a mailbox, regardless of a tag after a `+`. */
  function find({ local, domain }: Mailbox): (KnownMailbox & { readonly peer: string }) | undefined {
    const peer = domains.get(domain)?.locals.get(removeSubaddress(local))?.peer ?? ''
    const entry = entries.get(peer)
    return entry && { ...entry, peer }
  }

  return { entries, domains, names, add, remove, find }
}

/** Returns the local part in lower case, without the tag that the owner of the mailbox may choose at will. */
export function removeSubaddress(local: string): string {
  return local.toLowerCase().replace(/(?<=.)\+.*$/, '')
}

/** Describes a domain without known mailboxes. */
export function describeDomain(domain: string): KnownDomain {
  const unicodeDomain = domainToUnicode(domain).normalize('NFC')
  return { unicodeName: unicodeDomain, foldedName: foldLetters(unicodeDomain), locals: new Map() }
}
