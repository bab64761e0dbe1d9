import type { Mailbox } from '../addresses/mailbox.ts'
import { findEdit, foldLetters } from '../text/confusables.ts'
import type { KnownDomain, KnownLocal, KnownMailboxes } from './known-mailboxes.ts'
import { baseOf, describeDomain } from './known-mailboxes.ts'

/** A likeness between an author and a known mailbox. */
export interface Likeness {
  readonly flag: 'lookalike' | 'display_name_spoof'
  /** `its domain reads like that`, for the operator. */
  readonly how: string
  /** The address of the known mailbox. */
  readonly peer: string
}

/** One letter of a short name is much of it: `mx1` and `mx2`, `jo` and `jon`. */
const [shortLocal, shortLabel] = [4, 5]
export function findLikeDomains({ domains }: KnownMailboxes, { local, domain }: Mailbox): Likeness[] {
  const { shown, folded } = domains.get(domain) ?? describeDomain(domain)
  const found: Likeness[] = []
  for (const [name, known] of domains) {
    const how = name === domain ? undefined : compareDomains({ shown, folded }, known)
    const example = how && (known.locals.get(baseOf(local)) ?? known.locals.values().next().value)
    if (how && example) found.push({ flag: 'lookalike', how, peer: example.peer })
  }
  return found
}

export function findLikeLocals({ domains }: KnownMailboxes, { local, domain }: Mailbox): Likeness[] {
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

export function findNamesakes({ entries, names }: KnownMailboxes, domain: string, folded: string): Likeness[] {
  const peers = [...(names.get(folded) ?? [])]
  return peers
    .filter(peer => !isSameOrganisation(entries.get(peer)?.domain ?? domain, domain))
    .map(peer => ({ flag: 'display_name_spoof', how: 'it bears the same name at another domain as that', peer }))
}

/** The domain itself, and those above and below it, are in the same hands. */
function isSameOrganisation(one: string, other: string): boolean {
  return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`)
}

function compareDomains(one: Pick<KnownDomain, 'shown' | 'folded'>, other: KnownDomain): string | undefined {
  if (one.folded === other.folded) return 'its domain reads like that'
  return isLabelEdited(one.shown, other.shown) ? 'its domain is one letter from that' : undefined
}

/** Two names of one organization. A registry suffix (`co.uk`) is no organization. */
function isSameOrganization(labels: readonly string[], others: readonly string[]): boolean {
  const [own, theirs] = [labels.slice(-2), others.slice(-2)]
  return labels.length > 2 && own.join('.') === theirs.join('.') && (own[0]?.length ?? 0) > 3
}

/** One letter in one label: of a name that is long enough, or of the ending (`.com`, `.co`). */
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

/** Numbers are meant to differ: `host1` and `host2` are no deception. */
function isMistaken(one: string, other: string): boolean {
  const edit = findEdit(one, other)
  return edit !== undefined && !edit.every(piece => /^\d$/.test(piece))
}
