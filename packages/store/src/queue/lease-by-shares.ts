// Leases due work so that no group gets more than its share.
import type { LeaseRequest } from '@postern/pipeline'

interface ShareSource<Row> {
  /** Finds due rows in their order, without these groups. */
  find(fullGroups: readonly string[], limit: number): readonly Row[]
  /** Runs in place of the first `find` and also counts the items of each group that are held already. Default: none are held. */
  findFirst?: ((fullGroups: readonly string[]) => readonly [rows: readonly Row[], held: HeldCounts]) | undefined
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

/** The numbers of items of each group that other workers hold, and that the polling worker holds by now. */
interface HeldCounts {
  readonly byOthers: Counts
  readonly byRequester: Counts
}

const heldByNobody: HeldCounts = { byOthers: new Map(), byRequester: new Map() }

interface LeasedRows<Row> {
  readonly rows: readonly Row[]
  /** The number of due rows, including busy ones. */
  readonly readyCount: number
  /** The numbers of items that other workers hold, by group. */
  readonly heldByOthers: Counts
}

/** Leases due rows, of no group more than its share. One call leases everything that fits, however the rows are spread over groups. */
export function leaseByShares<Row>(
  { limit, shares }: Pick<LeaseRequest, 'limit' | 'shares'>,
  {
    find,
    findFirst = fullGroups => [find(fullGroups, limit), heldByNobody],
    claim,
    groupOf,
    isBusy = () => false,
  }: ShareSource<Row>,
): LeasedRows<Row> {
  const { add, raise, isFull, listFull } = countShares(shares)
  const [first, { byOthers, byRequester }] = findFirst(listFull())
  for (const [group, count] of byRequester) raise(group, count)
  for (const [group, count] of byOthers) add(group, count)
  const leasedRows: Row[] = []
  let busyCount = 0
  for (let rows = first, requested = limit; ; ) {
    let isSkipping = false
    for (const row of rows) {
      const group = groupOf(row) ?? undefined
      if (isBusy(row)) {
        busyCount += 1
        continue
      }
      if (isFull(group)) {
        isSkipping = true
        continue
      }
      add(group, 1)
      claim(row)
      leasedRows.push(row)
    }
    // Fewer rows than were asked for are all there are.
    if (!isSkipping || leasedRows.length >= limit || rows.length < requested)
      return { rows: leasedRows, readyCount: leasedRows.length + busyCount, heldByOthers: byOthers }
    requested = limit - leasedRows.length
    rows = find(listFull(), requested)
  }
}

/** Counts how much of its share each group has. */
function countShares(shares: LeaseRequest['shares']) {
  const maxOf = (group: string) => shares?.maxByGroup?.get(group) ?? shares?.maxPerGroup ?? Number.POSITIVE_INFINITY
  const counts = new Map(shares?.usedByGroup)
  const isFull = (group: string | undefined) => group !== undefined && (counts.get(group) ?? 0) >= maxOf(group)
  return {
    isFull,
    add(group: string | undefined, count: number): void {
      if (group !== undefined) counts.set(group, (counts.get(group) ?? 0) + count)
    },
    raise(group: string, minimum: number): void {
      counts.set(group, Math.max(counts.get(group) ?? 0, minimum))
    },
    // A group whose share is zero is full from the start.
    listFull: () => [...new Set([...counts.keys(), ...(shares?.maxByGroup?.keys() ?? [])])].filter(isFull),
  }
}
