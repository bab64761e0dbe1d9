// Prints the list of messages for other programs, as CSV (RFC 4180) or as one JSON object per line.
import type { MessageSummary } from '@postern/pipeline'
import type { OperatorClient } from '../../client/client.ts'
import { withClient } from '../../client/client.ts'
import type { ApiOutput } from '../context.ts'
import type { MessageFilter } from '../messages/operations.ts'
import { messageOperations } from '../messages/operations.ts'
import type { TableFormat } from './table-formats.ts'

const columns = [
  'message',
  'thread',
  'id',
  'received_at',
  'answered_at',
  'via',
  'agent',
  'sender',
  'verified',
  'state',
  'status',
  'flags',
  'preview',
] as const satisfies readonly (keyof MessageSummary)[]

const pageSize = 500

export type ExportFilter = Omit<MessageFilter, 'limit' | 'after'>

/** Prints all messages of a period, newest first, page by page. */
export async function exportMessages(output: ApiOutput, format: TableFormat, filter: ExportFilter): Promise<void> {
  await withClient(output, async client => {
    if (format === 'csv') output.print(columns.join())
    for await (const row of listRows(client, filter)) {
      output.print(format === 'csv' ? columns.map(name => writeCell(row[name])).join() : JSON.stringify(row))
    }
  })
}

async function* listRows(client: OperatorClient, filter: ExportFilter): AsyncGenerator<MessageSummary> {
  let after: number | undefined
  do {
    const query = { ...filter, limit: pageSize, ...(after !== undefined && { after }) }
    const { items, next } = await client.call(messageOperations.list, { query })
    yield* items
    after = next ?? undefined
  } while (after !== undefined)
}

/** Matches the characters with which a formula may begin. Spreadsheets run such texts, and the texts here come from strangers. */
const formulaPattern = /^[=+\-@\t\r]/
const addressPattern = /^@[\w.+-]+@[\w.-]+$/

function writeCell(value: MessageSummary[(typeof columns)[number]]): string {
  const text = Array.isArray(value) ? value.join(' ') : String(value ?? '')
  const safe = formulaPattern.test(text) && !addressPattern.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
