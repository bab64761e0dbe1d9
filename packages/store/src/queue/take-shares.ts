// Leases due work so that no group gets more than its share.
import type { LeaseRequest } from '@postern/pipeline'

interface ShareTaking<Row> {
  /** Finds due rows in their order, without these groups. */
  find(full: readonly string[], limit: number): readonly Row[]
  /** Runs in place of the first `find` and also returns the items that others hold of each group. Without it others hold none. */
  findFirst?: ((full: readonly string[]) => readonly [rows: readonly Row[], held: HeldCounts]) | undefined
  /** Leases a row, so that it is not found again. */
  claim(row: Row): void
  /** Returns the group of a row; undefined if the row shares with none. */
  groupOf(row: Row): string | null | undefined
  /**
   * Returns true for a row on which somebody else works now. A later poll finds it: a notice announces when it is ready, and workers poll once a
   * second.
   */
  isBusy?(row: Row): boolean
}

type Counts = ReadonlyMap<string, number>

/** Items that others hold of each group, and those that the worker itself holds by now. */
interface HeldCounts {
  readonly elsewhere: Counts
  readonly own: Counts
}

const heldByNobody: HeldCounts = { elsewhere: new Map(), own: new Map() }

interface TakenWork<Row> {
  readonly taken: readonly Row[]
  /** The number of due rows, with those that are busy. */
  readonly seen: number
  /** Items that others hold of each group. */
  readonly elsewhere: Counts
}

/** Leases due rows, of no group more than its share. One call leases everything that fits, however the rows are spread over groups. */
export function takeShares<Row>(
  { limit, shares }: Pick<LeaseRequest, 'limit' | 'shares'>,
  {
    find,
    findFirst = full => [find(full, limit), heldByNobody],
    claim,
    groupOf,
    isBusy = () => false,
  }: ShareTaking<Row>,
): TakenWork<Row> {
  const { add, raise, isFull, listFull } = countShares(shares)
  const [first, { elsewhere, own }] = findFirst(listFull())
  for (const [group, count] of own) raise(group, count)
  for (const [group, count] of elsewhere) add(group, count)
  const taken: Row[] = []
  let busy = 0
  for (let rows = first, asked = limit; ; ) {
    let isSkipping = false
    for (const row of rows) {
      const group = groupOf(row) ?? undefined
      if (isBusy(row)) {
        busy += 1
        continue
      }
      if (isFull(group)) {
        isSkipping = true
        continue
      }
      add(group, 1)
      claim(row)
      taken.push(row)
    }
    // Fewer rows than were asked for are all there are.
    if (!isSkipping || taken.length >= limit || rows.length < asked)
      return { taken, seen: taken.length + busy, elsewhere }
    asked = limit - taken.length
    rows = find(listFull(), asked)
  }
}

/** Counts how much of its share each group has. */
function countShares(shares: LeaseRequest['shares']) {
  const mostOf = (group: string) => shares?.mostOf?.get(group) ?? shares?.most ?? Number.POSITIVE_INFINITY
  const counts = new Map(shares?.taken)
  const isFull = (group: string | undefined) => group !== undefined && (counts.get(group) ?? 0) >= mostOf(group)
  return {
    isFull,
    add(group: string | undefined, count: number): void {
      if (group !== undefined) counts.set(group, (counts.get(group) ?? 0) + count)
    },
    raise(group: string, least: number): void {
      counts.set(group, Math.max(counts.get(group) ?? 0, least))
    },
    // A group whose share is zero is full from the start.
    listFull: () => [...new Set([...counts.keys(), ...(shares?.mostOf?.keys() ?? [])])].filter(isFull),
  }
}
