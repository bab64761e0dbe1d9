import type { HeaderBlock, HeaderField } from '../../mail/header-scan.ts'
import { couldSignFor, readTag } from './tags.ts'

/**
 * Lower-case names of the fields that a proof covers, each as often as it covers one, counted from the bottom (RFC 6376 §5.4.2). `all`: the server
 * that brought the mail is the proof, or there is none.
 */
export type Coverage = readonly string[] | 'all'

/** The header without the fields that others may have added or changed under the proof. */
export function keepCovered(header: HeaderBlock, coverage: Coverage): HeaderBlock {
  if (coverage === 'all') return header
  const left = countNames(coverage)
  const isCovered = (name: string) => {
    const count = left.get(name) ?? 0
    left.set(name, count - 1)
    return count > 0
  }
  const fields = header.fields.toReversed().filter(({ name }) => isCovered(name))
  return { ...header, fields: fields.toReversed() }
}

/**
 * The fields that every possible signature of the author covers (`h=`), verified or not; undefined where there is none.
 * It serves verdicts that do not name their signature. `isSealed`: the message signatures of an ARC chain may prove the
 * author, too.
 */
export function readSharedCoverage(
  header: HeaderBlock,
  authorDomain: string,
  isSealed = false,
): readonly string[] | undefined {
  const seals = isSealed ? header.fields.filter(({ name }) => name === 'arc-message-signature') : []
  const lists = [...listCandidates(header, authorDomain), ...seals].map(field =>
    readTag(field, 'h').toLowerCase().split(':'),
  )
  return lists.length === 0 ? undefined : lists.reduce<readonly string[]>(intersect, lists[0] ?? [])
}

/** Whether one of these signatures leaves the end of the body open (`l=`): others may have added to it. */
export function leavesEndOpen(header: HeaderBlock, authorDomain: string): boolean {
  return listCandidates(header, authorDomain).some(field => readTag(field, 'l') !== '')
}

function listCandidates({ fields }: HeaderBlock, authorDomain: string): readonly HeaderField[] {
  return fields.filter(field => field.name === 'dkim-signature' && couldSignFor(field, authorDomain))
}

function intersect(left: readonly string[], right: readonly string[]): readonly string[] {
  const counts = countNames(right)
  return left.filter(name => {
    const count = counts.get(name) ?? 0
    counts.set(name, count - 1)
    return count > 0
  })
}

function countNames(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
