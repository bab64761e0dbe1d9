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
 * The minimum length of a local part and of a label. In a shorter name, one letter is too large a share: `mx1` and
 * `mx2`, `jo` and `jon`.
 */
const [minLocalChars, minLabelChars] = [4, 5]
/** Finds known domains that the domain of an author could be mistaken for. */
export function findSimilarDomains(
  domains: ReadonlyMap<string, KnownDomain>,
  { domain, baseLocal, unicodeName, foldedName }: ComparedAuthor,
): Likeness[] {
  const likenesses: Likeness[] = []
  for (const [name, knownDomain] of domains) {
    const description = name === domain ? undefined : compareDomains({ unicodeName, foldedName }, knownDomain)
    const knownMailbox = description && (knownDomain.locals.get(baseLocal) ?? knownDomain.locals.values().next().value)
    if (description && knownMailbox) likenesses.push({ flag: 'lookalike', description, peer: knownMailbox.peer })
  }
  return likenesses
}

/** Finds known mailboxes of the same domain that the author could be mistaken for. */
export function findSimilarLocals(
  locals: KnownDomain['locals'],
  { baseLocal, foldedBaseLocal }: Pick<ComparedAuthor, 'baseLocal' | 'foldedBaseLocal'>,
): Likeness[] {
  const likenesses: Likeness[] = []
  for (const [localPart, knownLocal] of locals) {
    const description =
      foldedBaseLocal === knownLocal.foldedBaseLocal
        ? 'its address reads like that'
        : compareLocals(baseLocal, localPart)
    if (description) likenesses.push({ flag: 'lookalike', description, peer: knownLocal.peer })
  }
  return likenesses
}

/** An unknown author, prepared for the comparison. */
interface ComparedAuthor extends Pick<KnownDomain, 'unicodeName' | 'foldedName'> {
  readonly domain: string
  /** The local part without its tag. */
  readonly baseLocal: string
  readonly foldedBaseLocal: string
}

function compareDomains(
  author: Pick<KnownDomain, 'unicodeName' | 'foldedName'>,
  knownDomain: KnownDomain,
): string | undefined {
  if (author.foldedName === knownDomain.foldedName) return 'its domain reads like that'
  return differsInOneLabel(author.unicodeName, knownDomain.unicodeName)
    ? 'its domain is one letter from that'
    : undefined
}

/** Returns true if two names belong to one organization. A registry suffix (`co.uk`) is not an organization. */
function isSameOrganization(labels: readonly string[], otherLabels: readonly string[]): boolean {
  const [ownDomain, otherDomain] = [labels.slice(-2), otherLabels.slice(-2)]
  return labels.length > 2 && ownDomain.join('.') === otherDomain.join('.') && (ownDomain[0]?.length ?? 0) > 3
}

/**
 * Returns true if two names differ by one letter in one label. Only long labels and the top-level domain (`.com`,
 * `.co`) count.
 */
function differsInOneLabel(name: string, otherName: string): boolean {
  if (!findEdit(name, otherName)) return false
  const [labels, otherLabels] = [name.split('.'), otherName.split('.')]
  if (labels.length !== otherLabels.length || isSameOrganization(labels, otherLabels)) return false
  const position = labels.findIndex((label, index) => label !== otherLabels[index])
  const [label = '', otherLabel = ''] = [labels[position], otherLabels[position]]
  if (labels.toSpliced(position, 1).join('.') !== otherLabels.toSpliced(position, 1).join('.')) return false
  const isLong =
    Math.max(label.length, otherLabel.length) >= minLabelChars || (position > 0 && position === labels.length - 1)
  return isLong && isEasilyMistaken(label, otherLabel)
}

function compareLocals(local: string, knownLocal: string): string | undefined {
  const isLong = Math.max(local.length, knownLocal.length) >= minLocalChars
  return isLong && isEasilyMistaken(local, knownLocal) ? 'its address is one letter from that' : undefined
}

/**
 * Returns true if a difference is easily overlooked. Digits usually differ on purpose: `host1` and `host2` are not a
 * deception.
 */
function isEasilyMistaken(text: string, otherText: string): boolean {
  const edit = findEdit(text, otherText)
  return edit !== undefined && !edit.every(piece => /^\d$/.test(piece))
}

/** A domain of known mailboxes. */
export interface KnownDomain {
  /** The domain in the form that programs show. */
  readonly unicodeName: string
  readonly foldedName: string
  /** The mailboxes of the domain by the local part without its tag, in lower case. */
  readonly locals: Map<string, { readonly peer: string; readonly foldedBaseLocal: string }>
}

/**
 * Returns the two pieces in which two texts differ, if the difference is one letter more, less or changed, or two
 * swapped neighbours. It returns undefined for equal texts and for larger differences.
 */
export function findEdit(left: string, right: string): readonly [left: string, right: string] | undefined {
  const shorterLength = Math.min(left.length, right.length)
  const longerLength = Math.max(left.length, right.length)
  if (longerLength - shorterLength > 1 || left === right) return undefined
  let startLength = 0
  while (startLength < shorterLength && left[startLength] === right[startLength]) startLength += 1
  let endLength = 0
  while (
    endLength < shorterLength - startLength &&
    left[left.length - 1 - endLength] === right[right.length - 1 - endLength]
  )
    endLength += 1
  // Nearly all of the thousands of comparisons return here, before a substring is copied.
  if (longerLength - startLength - endLength > 2) return undefined
  const [leftPiece, rightPiece] = [
    left.slice(startLength, left.length - endLength),
    right.slice(startLength, right.length - endLength),
  ]
  const isSwap =
    leftPiece.length === 2 &&
    rightPiece.length === 2 &&
    leftPiece[0] === rightPiece[1] &&
    leftPiece[1] === rightPiece[0]
  return isSwap || (leftPiece.length <= 1 && rightPiece.length <= 1) ? [leftPiece, rightPiece] : undefined
}
