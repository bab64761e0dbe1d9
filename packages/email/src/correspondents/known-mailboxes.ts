import { domainToUnicode } from 'node:url'
import type { Mailbox } from '../addresses/mailbox.ts'
import { foldLetters, foldName } from '../text/confusables.ts'

export interface KnownDomain {
  /** As it is shown. */
  readonly shown: string
  readonly folded: string
  /** By the local part without its tag, in lower case. */
  readonly locals: Map<string, KnownLocal>
}

export interface KnownLocal {
  readonly peer: string
  readonly folded: string
}

interface KnownMailbox extends Pick<Mailbox, 'domain' | 'name'> {
  readonly base: string
  /** As it reads. */
  readonly folded: string
}

/** The mailboxes that an agent knows, with an index of their domains and one of their names. */
export interface KnownMailboxes {
  /** By address, in the order in which the agent came to know them. */
  readonly entries: ReadonlyMap<string, KnownMailbox>
  readonly domains: ReadonlyMap<string, KnownDomain>
  /** Addresses by folded name. */
  readonly names: ReadonlyMap<string, ReadonlySet<string>>
  add(peer: string, name: string | undefined): void
  remove(peer: string): void
  /** This mailbox, with any tag after a `+`. */
  find(mailbox: Mailbox): (KnownMailbox & { readonly peer: string }) | undefined
}

export function createKnownMailboxes(): KnownMailboxes {
  const entries = new Map<string, KnownMailbox>()
  const domains = new Map<string, KnownDomain>()
  const names = new Map<string, Set<string>>()

  function add(peer: string, name: string | undefined): void {
    remove(peer)
    const at = peer.lastIndexOf('@')
    const entry = { base: baseOf(peer.slice(0, at)), domain: peer.slice(at + 1), name, folded: foldName(name ?? '') }
    entries.set(peer, entry)
    const known = domains.get(entry.domain) ?? describeDomain(entry.domain)
    domains.set(entry.domain, known)
    if (!known.locals.has(entry.base)) known.locals.set(entry.base, { peer, folded: foldLetters(entry.base) })
    if (entry.folded) names.set(entry.folded, (names.get(entry.folded) ?? new Set()).add(peer))
  }

  function remove(peer: string): void {
    const entry = entries.get(peer)
    if (!entry) return
    entries.delete(peer)
    const { locals } = domains.get(entry.domain) ?? {}
    if (locals?.get(entry.base)?.peer === peer) locals.delete(entry.base)
    if (locals?.size === 0) domains.delete(entry.domain)
    const named = names.get(entry.folded)
    named?.delete(peer)
    if (named?.size === 0) names.delete(entry.folded)
  }

  function find({ local, domain }: Mailbox): (KnownMailbox & { readonly peer: string }) | undefined {
    const peer = domains.get(domain)?.locals.get(baseOf(local))?.peer ?? ''
    const entry = entries.get(peer)
    return entry && { ...entry, peer }
  }

  return { entries, domains, names, add, remove, find }
}

/** The local part without its tag, which the mailbox owner chooses at will. */
export function baseOf(local: string): string {
  return local.toLowerCase().replace(/(?<=.)\+.*$/, '')
}

export function describeDomain(domain: string): KnownDomain {
  const shown = domainToUnicode(domain).normalize('NFC')
  return { shown, folded: foldLetters(shown), locals: new Map() }
}
