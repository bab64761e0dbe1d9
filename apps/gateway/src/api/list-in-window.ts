import type { ListPeriod, ListWindow, Page } from '@postern/core'

interface WindowedPage extends Page, ListPeriod {
  readonly agent?: string | undefined
  readonly channel?: string | undefined
  readonly state?: string | undefined
  readonly sender?: string | undefined
  readonly flag?: string | undefined
  readonly text?: string | undefined
}

interface WindowedList<Item, Asked extends WindowedPage> {
  find(page: Pick<Page, 'after'> & ListPeriod): Promise<ListWindow>
  list(page: Asked & { readonly floor?: number }): Promise<readonly Item[]>
  placeOf(item: Item): number
}

const filters = ['agent', 'channel', 'state', 'sender', 'flag', 'since', 'until', 'text'] as const

/** One page of a list that grows without end. With a filter it looks at a bounded number of rows, and may have few items and still a next page. */
export async function listInWindow<Item, Asked extends WindowedPage>(
  asked: Asked,
  { find, list, placeOf }: WindowedList<Item, Asked>,
): Promise<{ readonly items: readonly Item[]; readonly next: number | null }> {
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
