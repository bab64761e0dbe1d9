import type { Page } from '@postern/core'

interface Placed {
  readonly place: number
}

interface FilteredPage<Item> {
  readonly items: readonly Item[]
  readonly next: number | null
}

/** What one page looks at: the cost of a page does not depend on how many rows there are. */
const mostRead = 2_000
const chunk = 250

/**
 * A page of rows as items, without those of which `select` makes none. `read`: the next rows behind a place. A page that has looked at 2,000 rows
 * ends there, has few items or none, and still has a next one.
 */
export async function filterPage<Row extends Placed, Item>(
  { limit, after }: Page,
  read: (page: Page) => Promise<readonly Row[]>,
  select: (row: Row) => Item | undefined,
): Promise<FilteredPage<Item>> {
  const items: Item[] = []
  let place = after
  for (let count = 0; count < mostRead; count += chunk) {
    const rows = await read({ limit: chunk, after: place })
    for (const row of rows) {
      place = row.place
      const item = select(row)
      if (item === undefined) continue
      items.push(item)
      if (items.length === limit) return { items, next: place }
    }
    if (rows.length < chunk) return { items, next: null }
  }
  return { items, next: place ?? null }
}

/** Lets a row pass as it is. */
export function passing<Row>(passes: (row: Row) => boolean): (row: Row) => Row | undefined {
  return row => (passes(row) ? row : undefined)
}

/** Whether a text contains another, in any case; everything contains nothing. */
export function containsText(text: string, part: string | undefined): boolean {
  return part === undefined || text.toLowerCase().includes(part.toLowerCase())
}

interface Period {
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/** Whether an instant (ms) lies within `since` and `until`. */
export function isWithin(at: number, { since, until }: Period): boolean {
  return (since === undefined || at >= Date.parse(since)) && (until === undefined || at < Date.parse(until))
}
