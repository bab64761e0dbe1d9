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
/** Known domains that the domain of an author could be mistaken for. */
export function findLikeDomains(
  domains: ReadonlyMap<string, KnownDomain>,
  { domain, base, shown, folded }: ComparedAuthor,
): Likeness[] {
  const found: Likeness[] = []
  for (const [name, known] of domains) {
    const how = name === domain ? undefined : compareDomains({ shown, folded }, known)
    const example = how && (known.locals.get(base) ?? known.locals.values().next().value)
    if (how && example) found.push({ flag: 'lookalike', how, peer: example.peer })
  }
  return found
}

/** Known mailboxes of the same domain that the author could be mistaken for. */
export function findLikeLocals(
  locals: KnownDomain['locals'],
  { base, foldedBase }: Pick<ComparedAuthor, 'base' | 'foldedBase'>,
): Likeness[] {
  const found: Likeness[] = []
  for (const [known, other] of locals) {
    const how = foldedBase === other.folded ? 'its address reads like that' : compareLocals(base, known)
    if (how) found.push({ flag: 'lookalike', how, peer: other.peer })
  }
  return found
}

/** An author who is not known, as read for the comparison. */
interface ComparedAuthor extends Pick<KnownDomain, 'shown' | 'folded'> {
  readonly domain: string
  /** The local part without its tag, and as it reads. */
  readonly base: string
  readonly foldedBase: string
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

/** A domain of known mailboxes. */
export interface KnownDomain {
  /** As it is shown. */
  readonly shown: string
  readonly folded: string
  /** By the local part without its tag, in lower case. */
  readonly locals: Map<string, { readonly peer: string; readonly folded: string }>
}

/**
 * The difference of two texts, when it is one letter more, less or changed, or two swapped neighbours: both pieces.
 * Undefined for equal texts and for larger differences.
 */
export function findEdit(left: string, right: string): readonly [left: string, right: string] | undefined {
  const shorter = Math.min(left.length, right.length)
  const longer = Math.max(left.length, right.length)
  if (longer - shorter > 1 || left === right) return undefined
  let start = 0
  while (start < shorter && left[start] === right[start]) start += 1
  let end = 0
  while (end < shorter - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1
  // Nearly all of thousands end here, and nothing is cut out for them.
  if (longer - start - end > 2) return undefined
  const [one, other] = [left.slice(start, left.length - end), right.slice(start, right.length - end)]
  const isSwap = one.length === 2 && other.length === 2 && one[0] === other[1] && one[1] === other[0]
  return isSwap || (one.length <= 1 && other.length <= 1) ? [one, other] : undefined
}
