import { domainToUnicode } from 'node:url'
import type { Mailbox } from '../addresses/mailbox.ts'
import { findEdit, foldLetters, foldName } from '../text/confusables.ts'

/** What an author has in common with somebody else. */
export interface Likeness {
  readonly flag: 'lookalike' | 'display_name_spoof'
  /** `its domain reads like that`, for the operator. */
  readonly how: string
  /** Whose address is meant. */
  readonly peer: string
}

/** Those whom an agent knows, in the order in which it came to know them. */
export interface AddressBook {
  add(peer: string, name: string | undefined): void
  remove(peer: string): void
  /** This mailbox, with whatever behind a `+`; `isRenamed`: it has called itself something else. */
  find(author: Mailbox): { readonly peer: string; readonly isRenamed: boolean } | undefined
  /** Others that an author could be taken for. */
  findLike(author: Mailbox): readonly Likeness[]
  /** Whose place one more mailbox takes: that of the oldest of its domain, or of all; undefined while there is room. */
  findOutdated(author: Mailbox): string | undefined
}

interface KnownDomain {
  /** As it is shown. */
  readonly shown: string
  readonly folded: string
  /** By the local part without its tag, in lower case. */
  readonly locals: Map<string, KnownLocal>
}

interface KnownLocal {
  readonly peer: string
  readonly folded: string
}

interface Entry extends Pick<Mailbox, 'domain' | 'name'> {
  readonly base: string
  /** As it reads. */
  readonly folded: string
}

/** One letter of a short name is much of it: `mx1` and `mx2`, `jo` and `jon`. */
const [shortLocal, shortLabel] = [4, 5]
/** Whoever has a domain has all its mailboxes, and must not drive out everybody else with them. */
const [maxKnown, maxOfDomain] = [10_000, 1_000]

export function createAddressBook(): AddressBook {
  const entries = new Map<string, Entry>()
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

  function findLikeDomains({ local, domain }: Mailbox): Likeness[] {
    const { shown, folded } = domains.get(domain) ?? describeDomain(domain)
    const found: Likeness[] = []
    for (const [name, known] of domains) {
      const how = name === domain ? undefined : compareDomains({ shown, folded }, known)
      const example = how && (known.locals.get(baseOf(local)) ?? known.locals.values().next().value)
      if (how && example) found.push({ flag: 'lookalike', how, peer: example.peer })
    }
    return found
  }

  function findLikeLocals({ local, domain }: Mailbox): Likeness[] {
    const base = baseOf(local)
    const folded = foldLetters(base)
    const locals = domains.get(domain)?.locals ?? new Map<string, KnownLocal>()
    const found: Likeness[] = []
    for (const [known, other] of locals) {
      const how = folded === other.folded ? 'its address reads like that' : compareLocals(base, known)
      if (how) found.push({ flag: 'lookalike', how, peer: other.peer })
    }
    return found
  }

  function findEntry({ local, domain }: Mailbox): (Entry & { readonly peer: string }) | undefined {
    const peer = domains.get(domain)?.locals.get(baseOf(local))?.peer ?? ''
    const entry = entries.get(peer)
    return entry && { ...entry, peer }
  }

  /** The name of somebody known is not folded anew with each of his mails. */
  function foldNameOf(author: Mailbox, entry = findEntry(author)): string {
    return entry && entry.name === author.name ? entry.folded : foldName(author.name ?? '')
  }

  function findNamesakes(author: Mailbox): Likeness[] {
    const { domain } = author
    const peers = [...(names.get(foldNameOf(author)) ?? [])]
    return peers
      .filter(peer => !isSameOrganisation(entries.get(peer)?.domain ?? domain, domain))
      .map(peer => ({ flag: 'display_name_spoof', how: 'it bears the same name at another domain as that', peer }))
  }

  return {
    add,
    remove,
    find(author) {
      const entry = findEntry(author)
      const isRenamed = author.name !== undefined && foldNameOf(author, entry) !== entry?.folded
      return entry && { peer: entry.peer, isRenamed }
    },
    findLike(author) {
      // Nobody becomes known who looks like somebody known; but who is known may take another name.
      const likes = findEntry(author) ? [] : [...findLikeDomains(author), ...findLikeLocals(author)]
      return [...likes, ...findNamesakes(author)]
    },
    findOutdated({ domain }) {
      const { locals } = domains.get(domain) ?? {}
      if (locals && locals.size >= maxOfDomain) return locals.values().next().value?.peer
      return entries.size >= maxKnown ? entries.keys().next().value : undefined
    },
  }
}

/** What stands behind a `+` is the mailbox owner's own. */
function baseOf(local: string): string {
  return local.toLowerCase().replace(/(?<=.)\+.*$/, '')
}

function describeDomain(domain: string): KnownDomain {
  const shown = domainToUnicode(domain).normalize('NFC')
  return { shown, folded: foldLetters(shown), locals: new Map() }
}

/** The domain itself, and those above and below it, are in the same hands. */
function isSameOrganisation(one: string, other: string): boolean {
  return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`)
}

function compareDomains(one: Pick<KnownDomain, 'shown' | 'folded'>, other: KnownDomain): string | undefined {
  if (one.folded === other.folded) return 'its domain reads like that'
  return isLabelEdited(one.shown, other.shown) ? 'its domain is one letter from that' : undefined
}

/** Two names of one organization; what a country sells names below (`co.uk`) is none. */
function isSameOrganization(labels: readonly string[], others: readonly string[]): boolean {
  const [own, theirs] = [labels.slice(-2), others.slice(-2)]
  return labels.length > 2 && own.join('.') === theirs.join('.') && (own[0]?.length ?? 0) > 3
}

/** One letter in one label: of a name long enough, or of what stands behind it (`.com`, `.co`). */
function isLabelEdited(one: string, other: string): boolean {
  if (!findEdit(one, other)) return false
  const [labels, others] = [one.split('.'), other.split('.')]
  if (labels.length !== others.length || isSameOrganization(labels, others)) return false
  const at = labels.findIndex((label, index) => label !== others[index])
  const [label = '', known = ''] = [labels[at], others[at]]
  if (labels.toSpliced(at, 1).join('.') !== others.toSpliced(at, 1).join('.')) return false
  const isLong = Math.max(label.length, known.length) >= shortLabel || (at > 0 && at === labels.length - 1)
  return isLong && isMistaken(label, known)
}

function compareLocals(one: string, other: string): string | undefined {
  const isLong = Math.max(one.length, other.length) >= shortLocal
  return isLong && isMistaken(one, other) ? 'its address is one letter from that' : undefined
}

/** Numbers are meant to differ: `host1` and `host2` are nobody's trick. */
function isMistaken(one: string, other: string): boolean {
  const edit = findEdit(one, other)
  return edit !== undefined && !edit.every(piece => /^\d$/.test(piece))
}
