// Defines the pages and filters of lists in the operator's API.
import { channelNameSchema } from '@postern/message'
import type { ListPeriod, ListWindow, Page } from '@postern/pipeline'
import { z } from 'zod'

/** The maximum number of items in one page. */
const maxPageItems = 500

/** An instant in an answer. */
export const instantSchema = z.string().describe('ISO 8601 UTC.')

/** The parameters of a page. The page has the items that follow `after`. */
export const pageParameters = {
  limit: z.int().min(1).max(maxPageItems).default(50).describe('Number of items in the page, at most.'),
  after: z.int().min(0).optional().describe('`next` of the previous page.'),
}

const instant = z.iso.datetime({ offset: true, error: 'must be an instant such as 2026-01-31T12:00:00Z' })
const filterText = z.string().min(1).max(200)

/** The filters of lists. Each list accepts those that apply to it. */
export const listFilters = {
  agent: filterText.optional().describe('Only of this agent.'),
  channel: channelNameSchema.optional().describe('Only by this channel.'),
  sender: filterText.optional().describe('Only of senders whose address contains this, in any case.'),
  flag: filterText.optional().describe('Only with this flag.'),
  since: instant.optional().describe('Not before this instant, ISO 8601.'),
  until: instant.optional().describe('Before this instant, ISO 8601.'),
  text: filterText.optional().describe('Only where the text contains this, in any case.'),
}

/** The refusal of a filter that names an unknown agent or channel. An empty page would look as if there were no messages. */
export const unknownNameRefusal = { no_recipient: 'There is no such agent or channel.' } as const

/** Returns the schema of one page of a list. */
export function pageOf<Item>(item: z.ZodType<Item>) {
  return z.object({
    items: z.array(item).readonly(),
    /** The value of `after` for the next page. A page may have few items, or none, and still have a next one. */
    next: z.int().nullable().describe('`after` of the next page; null on the last one.'),
  })
}

interface PositionedRow {
  readonly number: number
}

export interface FilteredPage<Item> {
  readonly items: readonly Item[]
  readonly next: number | null
}

/** The maximum number of rows that one page reads, so that its cost does not depend on the size of the list. */
const maxRowsRead = 2_000
const chunkRows = 250

/**
 * Reads a page of items. `read` returns rows after a position, and `select` returns the item of a row, or undefined to leave the row out. A page
 * ends after 2,000 rows, so it may have few items or none, and still have a next page.
 */
export async function filterPage<Row extends PositionedRow, Item>(
  { limit, after }: Page,
  read: (page: Page) => Promise<readonly Row[]>,
  select: (row: Row) => Item | undefined,
): Promise<FilteredPage<Item>> {
  const items: Item[] = []
  let position = after
  for (let rowsRead = 0; rowsRead < maxRowsRead; rowsRead += chunkRows) {
    const rows = await read({ limit: chunkRows, after: position })
    for (const row of rows) {
      position = row.number
      const item = select(row)
      if (item === undefined) continue
      items.push(item)
      if (items.length === limit) return { items, next: position }
    }
    if (rows.length < chunkRows) return { items, next: null }
  }
  return { items, next: position ?? null }
}

/** Creates a selection that returns matching rows as they are. */
export function selectMatching<Row>(matches: (row: Row) => boolean): (row: Row) => Row | undefined {
  return row => (matches(row) ? row : undefined)
}

/** Returns true if a text contains `part`, regardless of case, or `part` is undefined. */
export function containsText(text: string, part: string | undefined): boolean {
  return part === undefined || text.toLowerCase().includes(part.toLowerCase())
}

/** Returns true if an instant (ms) lies within `since` and `until`. */
export function isWithin(instant: number, { since, until }: ListPeriod): boolean {
  return (since === undefined || instant >= Date.parse(since)) && (until === undefined || instant < Date.parse(until))
}

const filterNames = ['agent', 'channel', 'state', 'sender', 'flag', 'since', 'until', 'text'] as const

type WindowedPage = Page & { readonly [Name in (typeof filterNames)[number]]?: string | undefined }

interface WindowedList<Item, Query extends WindowedPage> {
  /** Finds the window of a page: the range of numbers that a filtered list may read. */
  findWindow(page: Pick<Page, 'after'> & ListPeriod): Promise<ListWindow>
  /** Lists the items of a page, without numbers below `floor`. */
  listItems(page: Query & { readonly floor?: number }): Promise<readonly Item[]>
  positionOf(item: Item): number
}

/** Reads one page of a list of any size. A filtered page reads only one window of the list, so it may have few items and still have a next page. */
export async function listInWindow<Item, Query extends WindowedPage>(
  query: Query,
  { findWindow, listItems, positionOf }: WindowedList<Item, Query>,
): Promise<FilteredPage<Item>> {
  const page = { ...query, ...toPeriod(query) }
  const isFiltered = filterNames.some(name => page[name] !== undefined)
  const window = isFiltered ? await findWindow(page) : undefined
  const items = await listItems({ ...page, ...(window && { after: window.after, floor: window.floor }) })
  const lastItem = items.at(-1)
  if (lastItem !== undefined && items.length === page.limit) return { items, next: positionOf(lastItem) }
  return { items, next: window && !window.isLast ? window.floor : null }
}

/** Converts the instants to the form that the store compares. */
export function toPeriod({ since, until }: ListPeriod): ListPeriod {
  const format = (instant: string | undefined) => (instant === undefined ? undefined : new Date(instant).toISOString())
  return { since: format(since), until: format(until) }
}
