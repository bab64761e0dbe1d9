// Leases due work so that no group gets more than its share.
import type { LeaseRequest } from '@postern/pipeline'
import type { Operation, OperationOrValue } from '../sql/operation.ts'
import { toOperation } from '../sql/operation.ts'

interface ShareSource<Row> {
  /** Finds due rows in their order, without these groups. */
  find(fullGroups: readonly string[], limit: number): Operation<readonly Row[]>
  /** Runs in place of the first `find`, and also counts the leased items of each group. By default, no items are leased. */
  findFirst?:
    | ((fullGroups: readonly string[]) => Operation<readonly [rows: readonly Row[], held: LeasedCounts]>)
    | undefined
  /** Leases rows, at least one, so that they are not found again. */
  claimAll(rows: readonly Row[]): OperationOrValue<void>
  /** Returns the group of a row, or undefined if the row belongs to no group. */
  getGroup(row: Row): string | null | undefined
  /**
   * Returns true for a row that another transaction is changing. A later poll finds this row, after a notice or because workers poll once a second.
   */
  isBusy?(row: Row): boolean
}

type Counts = ReadonlyMap<string, number>

/** The numbers of leased items by group, of other workers and of the polling worker. */
interface LeasedCounts {
  readonly byOthers: Counts
  readonly byRequester: Counts
}

const noLeases: LeasedCounts = { byOthers: new Map(), byRequester: new Map() }

interface LeasedRows<Row> {
  readonly rows: readonly Row[]
  /** The number of due rows, including busy ones. */
  readonly readyCount: number
  /** The numbers of items that other workers have leased, by group. */
  readonly heldByOthers: Counts
}

/** Leases due rows. No group gets more than its share. One call leases as many rows as the limits allow, independent of the order of groups. */
export function* leaseByShares<Row>(
  { limit, shares }: Pick<LeaseRequest, 'limit' | 'shares'>,
  {
    find,
    findFirst = function* (fullGroups) {
      return [yield* find(fullGroups, limit), noLeases]
    },
    claimAll,
    getGroup,
    isBusy = () => false,
  }: ShareSource<Row>,
): Operation<LeasedRows<Row>> {
  const { add, raise, isFull, listFull } = createShareCounter(shares)
  const [firstRows, { byOthers, byRequester }] = yield* findFirst(listFull())
  for (const [group, count] of byRequester) raise(group, count)
  for (const [group, count] of byOthers) add(group, count)
  const leasedRows: Row[] = []
  let busyCount = 0

  /** Selects the rows whose groups have a share left, and counts them. */
  function selectRows(rows: readonly Row[]): readonly Row[] {
    return rows.filter(row => {
      const group = getGroup(row) ?? undefined
      if (isFull(group)) return false
      add(group, 1)
      return true
    })
  }

  for (let rows = firstRows, requestedCount = limit; ; ) {
    const freeRows = rows.filter(row => !isBusy(row))
    busyCount += rows.length - freeRows.length
    const selectedRows = selectRows(freeRows)
    if (selectedRows.length > 0) yield* toOperation(claimAll(selectedRows))
    leasedRows.push(...selectedRows)
    // If the query returned fewer rows than requested, there are no further rows.
    const isSkipping = selectedRows.length < freeRows.length
    if (!isSkipping || leasedRows.length >= limit || rows.length < requestedCount)
      return { rows: leasedRows, readyCount: leasedRows.length + busyCount, heldByOthers: byOthers }
    requestedCount = limit - leasedRows.length
    rows = yield* find(listFull(), requestedCount)
  }
}

/** Counts the items of each group against its share. */
function createShareCounter(shares: LeaseRequest['shares']) {
  const getMaximum = (group: string) =>
    shares?.maxByGroup?.get(group) ?? shares?.maxPerGroup ?? Number.POSITIVE_INFINITY
  const counts = new Map(shares?.usedByGroup)
  const isFull = (group: string | undefined) => group !== undefined && (counts.get(group) ?? 0) >= getMaximum(group)
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
