import type { LeaseRequest } from '@postern/core'
import { LeaseLost } from '@postern/core'

interface ShareTaking<Row> {
  /** What is due, first things first, without these groups. */
  find(full: readonly string[], limit: number): readonly Row[]
  /** As `find`, the first time: with what others have of each group. Absent: they have nothing. */
  findFirst?: ((full: readonly string[]) => readonly [rows: readonly Row[], elsewhere: Counts]) | undefined
  /** Takes it, so that it is not found again. */
  claim(row: Row): void
  /** Undefined: it shares with nobody. */
  groupOf(row: Row): string | null | undefined
}

type Counts = ReadonlyMap<string, number>

/** Takes what is due, of no group more than its share, in one go however unevenly it is spread. */
export function takeShares<Row>(
  { limit, shares }: Pick<LeaseRequest, 'limit' | 'shares'>,
  { find, findFirst = full => [find(full, limit), new Map()], claim, groupOf }: ShareTaking<Row>,
): readonly Row[] {
  const { add, isFull, listFull } = countShares(shares)
  const [first, elsewhere] = findFirst(listFull())
  for (const [group, count] of elsewhere) add(group, count)
  const taken: Row[] = []
  for (let rows = first, asked = limit; ; ) {
    let isSkipping = false
    for (const row of rows) {
      const group = groupOf(row) ?? undefined
      if (isFull(group)) {
        isSkipping = true
        continue
      }
      add(group, 1)
      claim(row)
      taken.push(row)
    }
    // Fewer rows than were asked for are all there are.
    if (!isSkipping || taken.length >= limit || rows.length < asked) return taken
    asked = limit - taken.length
    rows = find(listFull(), asked)
  }
}

/** How full the share of each group is. */
function countShares(shares: LeaseRequest['shares']) {
  const mostOf = (group: string) => shares?.mostOf?.get(group) ?? shares?.most ?? Number.POSITIVE_INFINITY
  const counts = new Map(shares?.taken)
  const isFull = (group: string | undefined) => group !== undefined && (counts.get(group) ?? 0) >= mostOf(group)
  return {
    isFull,
    add(group: string | undefined, more: number): void {
      if (group !== undefined) counts.set(group, (counts.get(group) ?? 0) + more)
    },
    // A group that may have none is full before it has taken any.
    listFull: () => [...new Set([...counts.keys(), ...(shares?.mostOf?.keys() ?? [])])].filter(isFull),
  }
}

/** @throws LeaseLost when the statement that compared the token changed nothing */
export function refuseLostLease(changes: number, work: string): void {
  if (changes === 0) throw new LeaseLost(`the lease of ${work} is held by somebody else or its work is over`)
}
