import type { ListPeriod, ListWindow, Page } from '@postern/core'
import { channelNameSchema } from '@postern/core'
import { z } from 'zod'

/** Most items of one page. */
const maxPage = 500

/** The next page of any list: everything behind `after`. */
export const pageParameters = {
  limit: z.int().min(1).max(maxPage).default(50).describe('Most items of the page.'),
  after: z.int().min(0).optional().describe('`next` of the page before.'),
}

const instant = z.iso.datetime({ offset: true, error: 'must be an instant such as 2026-01-31T12:00:00Z' })
const word = z.string().min(1).max(200)

/** What lists may be filtered by; each list takes those that mean something there. */
export const listFilters = {
  agent: word.optional().describe('Only of this agent.'),
  channel: channelNameSchema.optional().describe('Only by this channel.'),
  sender: word.optional().describe('Only of senders whose address contains this, in any case.'),
  flag: word.optional().describe('Only with this flag.'),
  since: instant.optional().describe('Not before this instant, ISO 8601.'),
  until: instant.optional().describe('Before this instant, ISO 8601.'),
  text: word.optional().describe('Only where the text contains this, in any case.'),
}

/** One page of a list. */
export function pageOf<Item>(item: z.ZodType<Item>) {
  return z.object({
    items: z.array(item).readonly(),
    /** Goes on with `after`; a page may have few items, or none, and still have a next one. */
    next: z.int().nullable().describe('`after` of the next page; null on the last one.'),
  })
}

interface Placed {
  readonly place: number
}

export interface FilteredPage<Item> {
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

/** Whether an instant (ms) lies within `since` and `until`. */
export function isWithin(at: number, { since, until }: ListPeriod): boolean {
  return (since === undefined || at >= Date.parse(since)) && (until === undefined || at < Date.parse(until))
}

const filters = ['agent', 'channel', 'state', 'sender', 'flag', 'since', 'until', 'text'] as const

type WindowedPage = Page & { readonly [Name in (typeof filters)[number]]?: string | undefined }

interface WindowedList<Item, Asked extends WindowedPage> {
  find(page: Pick<Page, 'after'> & ListPeriod): Promise<ListWindow>
  list(page: Asked & { readonly floor?: number }): Promise<readonly Item[]>
  placeOf(item: Item): number
}

/** One page of a list that grows without end. With a filter it looks at a bounded number of rows, and may have few items and still a next page. */
export async function listInWindow<Item, Asked extends WindowedPage>(
  asked: Asked,
  { find, list, placeOf }: WindowedList<Item, Asked>,
): Promise<FilteredPage<Item>> {
  const page = { ...asked, ...toPeriod(asked) }
  const isFiltered = filters.some(name => page[name] !== undefined)
  const window = isFiltered ? await find(page) : undefined
  const items = await list({ ...page, ...(window && { after: window.after, floor: window.floor }) })
  const last = items.at(-1)
  if (last !== undefined && items.length === page.limit) return { items, next: placeOf(last) }
  return { items, next: window && !window.isLast ? window.floor : null }
}

/** Instants in the one form in which the store compares them. */
export function toPeriod({ since, until }: ListPeriod): ListPeriod {
  const format = (instant: string | undefined) => (instant === undefined ? undefined : new Date(instant).toISOString())
  return { since: format(since), until: format(until) }
}
