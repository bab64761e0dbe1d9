import type { LeaseRequest } from '@postern/core'
import { LeaseLost } from '@postern/core'

interface ShareTaking<Row> {
  /** What is due, first things first, without these groups. */
  find(full: readonly string[], limit: number): readonly Row[]
  /** Takes it, so that it is not found again. */
  claim(row: Row): void
  /** Undefined: it shares with nobody. */
  groupOf(row: Row): string | null | undefined
}

/** Takes what is due, of no group more than its share, in one go however unevenly it is spread. `elsewhere`: what others have of it. */
export function takeShares<Row>(
  { limit, shares }: Pick<LeaseRequest, 'limit' | 'shares'>,
  { find, claim, groupOf }: ShareTaking<Row>,
  elsewhere: ReadonlyMap<string, number> = new Map(),
): readonly Row[] {
  const mostOf = (group: string) => shares?.mostOf?.get(group) ?? shares?.most ?? Number.POSITIVE_INFINITY
  const counts = addCounts(elsewhere, shares?.taken)
  const isFull = (group: string) => (counts.get(group) ?? 0) >= mostOf(group)
  // A group that may have none is full before it has taken any.
  const groups = new Set([...counts.keys(), ...(shares?.mostOf?.keys() ?? [])])
  const taken: Row[] = []
  let isSkipping = true
  while (isSkipping && taken.length < limit) {
    isSkipping = false
    for (const row of find([...groups].filter(isFull), limit - taken.length)) {
      const group = groupOf(row) ?? undefined
      if (group !== undefined && isFull(group)) {
        isSkipping = true
        continue
      }
      if (group !== undefined) {
        counts.set(group, (counts.get(group) ?? 0) + 1)
        groups.add(group)
      }
      claim(row)
      taken.push(row)
    }
  }
  return taken
}

function addCounts(
  one: ReadonlyMap<string, number>,
  other: ReadonlyMap<string, number> = new Map(),
): Map<string, number> {
  const sum = new Map(one)
  for (const [group, count] of other) sum.set(group, (sum.get(group) ?? 0) + count)
  return sum
}

/** @throws LeaseLost when the statement that compared the token changed nothing */
export function refuseLostLease(changes: number, work: string): void {
  if (changes === 0) throw new LeaseLost(`the lease of ${work} is held by somebody else or its work is over`)
}
