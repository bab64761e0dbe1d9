// Indexes the mailboxes that an agent knows by domain and by name.

import { domainToUnicode } from 'node:url'
import type { Mailbox } from '../mail/mailbox.ts'
import { foldLetters, foldName } from './fold-letters.ts'
import type { KnownDomain } from './likeness.ts'

/**
 * The most mailboxes of an agent, and of one domain. The owner of a domain has all its mailboxes, and must not displace
 * the mailboxes of others with them.
 */
const [maxMailboxes, maxMailboxesPerDomain] = [10_000, 1_000]

/** Returns the mailbox that an additional one would replace: the oldest one of its domain, or of all. It returns undefined below the limits. */
export function findEvictedPeer({ entries, domains }: AddressBook, { domain }: Mailbox): string | undefined {
  const { locals } = domains.get(domain) ?? {}
  if (locals && locals.size >= maxMailboxesPerDomain) return locals.values().next().value?.peer
  return entries.size >= maxMailboxes ? entries.keys().next().value : undefined
}

export interface KnownMailbox extends Pick<Mailbox, 'domain' | 'name'> {
  readonly base: string
  /** The folded name. */
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
      base: withoutSubaddress(peer.slice(0, atIndex)),
      domain: peer.slice(atIndex + 1),
      name,
      foldedName: foldName(name ?? ''),
    }
    entries.set(peer, entry)
    const knownDomain = domains.get(entry.domain) ?? describeDomain(entry.domain)
    domains.set(entry.domain, knownDomain)
    if (!knownDomain.locals.has(entry.base))
      knownDomain.locals.set(entry.base, { peer, foldedBase: foldLetters(entry.base) })
    if (entry.foldedName) names.set(entry.foldedName, (names.get(entry.foldedName) ?? new Set()).add(peer))
  }

  function remove(peer: string): void {
    const entry = entries.get(peer)
    if (!entry) return
    entries.delete(peer)
    const { locals } = domains.get(entry.domain) ?? {}
    if (locals?.get(entry.base)?.peer === peer) locals.delete(entry.base)
    if (locals?.size === 0) domains.delete(entry.domain)
    const peersOfName = names.get(entry.foldedName)
    peersOfName?.delete(peer)
    if (peersOfName?.size === 0) names.delete(entry.foldedName)
  }

  /** Finds a mailbox, with any tag after a `+`. */
  function find({ local, domain }: Mailbox): (KnownMailbox & { readonly peer: string }) | undefined {
    const peer = domains.get(domain)?.locals.get(withoutSubaddress(local))?.peer ?? ''
    const entry = entries.get(peer)
    return entry && { ...entry, peer }
  }

  return { entries, domains, names, add, remove, find }
}

/** Returns the local part without its tag, which the owner of the mailbox chooses at will. */
export function withoutSubaddress(local: string): string {
  return local.toLowerCase().replace(/(?<=.)\+.*$/, '')
}

export function describeDomain(domain: string): KnownDomain {
  const unicodeDomain = domainToUnicode(domain).normalize('NFC')
  return { unicodeName: unicodeDomain, foldedName: foldLetters(unicodeDomain), locals: new Map() }
}
