// Compares domains and local parts of mailboxes that look alike.

/** A likeness between an author and a known mailbox. */
export interface Likeness {
  readonly flag: 'lookalike' | 'display_name_spoof'
  /** The likeness for the operator, such as `its domain reads like that`. */
  readonly description: string
  /** The address of the known mailbox. */
  readonly peer: string
}

/**
 * The least length of a local part and of a label. One letter of a shorter name is much of it: `mx1` and `mx2`, `jo`
 * and `jon`.
 */
const [minLocalChars, minLabelChars] = [4, 5]
/** Finds known domains that the domain of an author could be mistaken for. */
export function findSimilarDomains(
  domains: ReadonlyMap<string, KnownDomain>,
  { domain, base, unicodeName, foldedName }: ComparedAuthor,
): Likeness[] {
  const likenesses: Likeness[] = []
  for (const [name, knownDomain] of domains) {
    const description = name === domain ? undefined : compareDomains({ unicodeName, foldedName }, knownDomain)
    const knownMailbox = description && (knownDomain.locals.get(base) ?? knownDomain.locals.values().next().value)
    if (description && knownMailbox) likenesses.push({ flag: 'lookalike', description, peer: knownMailbox.peer })
  }
  return likenesses
}

/** Finds known mailboxes of the same domain that the author could be mistaken for. */
export function findSimilarLocals(
  locals: KnownDomain['locals'],
  { base, foldedBase }: Pick<ComparedAuthor, 'base' | 'foldedBase'>,
): Likeness[] {
  const likenesses: Likeness[] = []
  for (const [localPart, other] of locals) {
    const description = foldedBase === other.foldedBase ? 'its address reads like that' : compareLocals(base, localPart)
    if (description) likenesses.push({ flag: 'lookalike', description, peer: other.peer })
  }
  return likenesses
}

/** An unknown author in the form for the comparison. */
interface ComparedAuthor extends Pick<KnownDomain, 'unicodeName' | 'foldedName'> {
  readonly domain: string
  /** The local part without its tag. `foldedBase` is the same folded. */
  readonly base: string
  readonly foldedBase: string
}

function compareDomains(one: Pick<KnownDomain, 'unicodeName' | 'foldedName'>, other: KnownDomain): string | undefined {
  if (one.foldedName === other.foldedName) return 'its domain reads like that'
  return isLabelEdited(one.unicodeName, other.unicodeName) ? 'its domain is one letter from that' : undefined
}

/** Returns true if two names belong to one organization. A registry suffix (`co.uk`) is not an organization. */
function isSameOrganization(labels: readonly string[], otherLabels: readonly string[]): boolean {
  const [ownDomain, otherDomain] = [labels.slice(-2), otherLabels.slice(-2)]
  return labels.length > 2 && ownDomain.join('.') === otherDomain.join('.') && (ownDomain[0]?.length ?? 0) > 3
}

/** Returns true if two names differ by one letter in one label. Only long labels and the ending (`.com`, `.co`) count. */
function isLabelEdited(one: string, other: string): boolean {
  if (!findEdit(one, other)) return false
  const [labels, otherLabels] = [one.split('.'), other.split('.')]
  if (labels.length !== otherLabels.length || isSameOrganization(labels, otherLabels)) return false
  const position = labels.findIndex((label, index) => label !== otherLabels[index])
  const [label = '', otherLabel = ''] = [labels[position], otherLabels[position]]
  if (labels.toSpliced(position, 1).join('.') !== otherLabels.toSpliced(position, 1).join('.')) return false
  const isLong =
    Math.max(label.length, otherLabel.length) >= minLabelChars || (position > 0 && position === labels.length - 1)
  return isLong && isMistaken(label, otherLabel)
}

function compareLocals(one: string, other: string): string | undefined {
  const isLong = Math.max(one.length, other.length) >= minLocalChars
  return isLong && isMistaken(one, other) ? 'its address is one letter from that' : undefined
}

/** Returns true if a difference is easily overlooked. Numbers usually differ on purpose: `host1` and `host2` are not a deception. */
function isMistaken(one: string, other: string): boolean {
  const edit = findEdit(one, other)
  return edit !== undefined && !edit.every(piece => /^\d$/.test(piece))
}

/** A domain of known mailboxes. */
export interface KnownDomain {
  /** The domain as programs show it. */
  readonly unicodeName: string
  readonly foldedName: string
  /** The mailboxes of the domain by the local part without its tag, in lower case. */
  readonly locals: Map<string, { readonly peer: string; readonly foldedBase: string }>
}

/**
 * Returns both pieces of the difference of two texts, if it is one letter more, less or changed, or two swapped
 * neighbours. It returns undefined for equal texts and for larger differences.
 */
export function findEdit(left: string, right: string): readonly [left: string, right: string] | undefined {
  const shorter = Math.min(left.length, right.length)
  const longer = Math.max(left.length, right.length)
  if (longer - shorter > 1 || left === right) return undefined
  let start = 0
  while (start < shorter && left[start] === right[start]) start += 1
  let end = 0
  while (end < shorter - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1
  // Nearly all of thousands of comparisons end here, before anything is cut out.
  if (longer - start - end > 2) return undefined
  const [one, other] = [left.slice(start, left.length - end), right.slice(start, right.length - end)]
  const isSwap = one.length === 2 && other.length === 2 && one[0] === other[1] && one[1] === other[0]
  return isSwap || (one.length <= 1 && other.length <= 1) ? [one, other] : undefined
}
