// Prints lists and single answers of the operator's API, for people or as JSON.
import type { OperationInput } from '../api/call.ts'
import type { ApiOperation, OperationAnswer } from '../api/operation.ts'
import type { FilteredPage } from '../api/page.ts'
import type { OperatorClient } from '../client/client.ts'
import { withClient } from '../client/client.ts'
import type { ApiOutput } from './context.ts'

interface PrintedList<Item> {
  /** Reads the page after `after`, with at most `limit` items. A page may have few items or none, and still have a next page. */
  readonly readPage: (
    client: OperatorClient,
    page: { readonly limit: number; readonly after?: number },
  ) => Promise<FilteredPage<Item>>
  readonly format: (items: readonly Item[]) => string
  /** The maximum number of items to print; default 1,000. */
  readonly maxItems?: number | undefined
}

/** The maximum number of pages to read. A filtered page covers only a window of the list, so it may have few items. */
const maxPages = 50
const maxPageItems = 500

/** Prints a list of the operator's API, for people or as JSON, and reports if it continues. */
export async function printList<Item>(
  output: ApiOutput,
  { readPage, format, maxItems = 1_000 }: PrintedList<Item>,
): Promise<void> {
  const list = await withClient(output, client => readPages(maxItems, page => readPage(client, page)))
  if (output.json) output.print(JSON.stringify(list, null, 2))
  else output.print(list.next === null ? format(list.items) : `${format(list.items)}\n${describeNextPage(list)}`)
}

/** Reads pages of a list until it has enough items, or the list ends. */
export async function readPages<Item>(
  maxItems: number,
  readPage: (page: { readonly limit: number; readonly after?: number }) => Promise<FilteredPage<Item>>,
): Promise<FilteredPage<Item>> {
  const items: Item[] = []
  let next: number | null | undefined
  for (let page = 0; page < maxPages && items.length < maxItems && next !== null; page += 1) {
    const limit = Math.min(maxPageItems, maxItems - items.length)
    const nextPage = await readPage({ limit, ...(next !== undefined && { after: next }) })
    items.push(...nextPage.items)
    next = nextPage.next
  }
  return { items, next: next ?? null }
}

function describeNextPage({ items, next }: FilteredPage<unknown>): string {
  return `The list goes on after ${items.length === 1 ? 'this one' : `these ${items.length}`}: the operator's API returns the remaining items with after=${next}.`
}

interface PrintedAnswer<Operation extends ApiOperation> {
  readonly operation: Operation
  readonly input: OperationInput<Operation>
  format(answer: OperationAnswer<Operation>): string
  /** Receives the answer, whether it is printed for people or as JSON. */
  onAnswer?(answer: OperationAnswer<Operation>): void
}

/** Calls one operation and prints its answer, for people or as JSON. */
export async function printAnswer<Operation extends ApiOperation>(
  output: ApiOutput,
  { operation, input, format, onAnswer }: PrintedAnswer<Operation>,
): Promise<void> {
  const answer = await withClient(output, client => client.call(operation, input))
  output.print(output.json ? JSON.stringify(answer, null, 2) : format(answer))
  onAnswer?.(answer)
}
