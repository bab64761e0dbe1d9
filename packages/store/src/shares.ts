import type { LeaseRequest } from '@postern/core'

export interface ShareTaking<Row> {
  /** What is due, first things first, without these groups. */
  find(full: readonly string[], limit: number): readonly Row[]
  /** Takes it, so that it is not found again. */
  claim(row: Row): void
  /** Undefined: it shares with nobody. */
  groupOf(row: Row): string | null | undefined
}

/** Takes what is due, of no group more than its share, in one go however unevenly it is spread. */
export function takeShares<Row>(
  { limit, shares }: Pick<LeaseRequest, 'limit' | 'shares'>,
  { find, claim, groupOf }: ShareTaking<Row>,
): readonly Row[] {
  const most = shares?.most ?? Number.POSITIVE_INFINITY
  const counts = new Map(shares?.taken)
  const isFull = (group: string) => (counts.get(group) ?? 0) >= most
  const taken: Row[] = []
  let isSkipping = true
  while (isSkipping && taken.length < limit) {
    isSkipping = false
    for (const row of find([...counts.keys()].filter(isFull), limit - taken.length)) {
      const group = groupOf(row) ?? undefined
      if (group !== undefined && isFull(group)) {
        isSkipping = true
        continue
      }
      if (group !== undefined) counts.set(group, (counts.get(group) ?? 0) + 1)
      claim(row)
      taken.push(row)
    }
  }
  return taken
}
