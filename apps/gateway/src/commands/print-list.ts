import type { OperationInput } from '../api/call.ts'
import type { ApiOperation, OperationAnswer } from '../api/operation.ts'
import type { FilteredPage } from '../api/page.ts'
import type { OperatorClient } from './client.ts'
import { withClient } from './client.ts'
import type { ApiOutput } from './context.ts'

interface PrintedList<Item> {
  /** The page behind `after`, with `limit` items at most; it may have fewer, or none, and still have a next one. */
  readonly readPage: (
    client: OperatorClient,
    page: { readonly limit: number; readonly after?: number },
  ) => Promise<FilteredPage<Item>>
  readonly format: (items: readonly Item[]) => string
  /** Items that are printed at most; default 1,000. */
  readonly most?: number | undefined
}

/** Pages that are read at most: with a filter, a page looks at a window of the list only. */
const mostPages = 50
const longestPage = 500

/** Prints a list of the operator's API, for people or as JSON, and says when it goes on. */
export async function printList<Item>(
  output: ApiOutput,
  { readPage, format, most = 1_000 }: PrintedList<Item>,
): Promise<void> {
  const list = await withClient(output, client => readPages(most, page => readPage(client, page)))
  if (output.json) output.print(JSON.stringify(list, null, 2))
  else output.print(list.next === null ? format(list.items) : `${format(list.items)}\n${describeRest(list)}`)
}

export async function readPages<Item>(
  most: number,
  readPage: (page: { readonly limit: number; readonly after?: number }) => Promise<FilteredPage<Item>>,
): Promise<FilteredPage<Item>> {
  const items: Item[] = []
  let next: number | null | undefined
  for (let page = 0; page < mostPages && items.length < most && next !== null; page += 1) {
    const limit = Math.min(longestPage, most - items.length)
    const found = await readPage({ limit, ...(next !== undefined && { after: next }) })
    items.push(...found.items)
    next = found.next
  }
  return { items, next: next ?? null }
}

function describeRest({ items, next }: FilteredPage<unknown>): string {
  return `The list goes on after ${items.length === 1 ? 'this one' : `these ${items.length}`}: the operator's API has the rest (after=${next}).`
}

/** Asks the operator's API one thing and prints it, for people or as JSON. */
export async function printAnswer<Of extends ApiOperation>(
  output: ApiOutput,
  operation: Of,
  input: OperationInput<Of>,
  format: (answer: OperationAnswer<Of>) => string,
  /** Gets the answer, however it is printed. */
  note?: (answer: OperationAnswer<Of>) => void,
): Promise<void> {
  const answer = await withClient(output, client => client.call(operation, input))
  output.print(output.json ? JSON.stringify(answer, null, 2) : format(answer))
  note?.(answer)
}
