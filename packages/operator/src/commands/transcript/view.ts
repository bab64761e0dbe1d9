// Prints and imports conversations in the formats of the transcript.
import { readFileSync } from 'node:fs'
import { parseJsonText } from '@postern/message'
import type { OperationInput } from '../../api/call.ts'
import { CommandError, withClient } from '../../client/client.ts'
import type { ApiOutput } from '../context.ts'
import { parsePeriod } from '../parse-period.ts'
import { printAnswer } from '../print-list.ts'
import type { ExportFilter } from './message-table.ts'
import { exportMessages } from './message-table.ts'
import { transcriptOperations } from './route.ts'
import type { TableFormat } from './table-formats.ts'

interface TranscriptRequest {
  readonly format: string
  readonly thread: string
  readonly owner?: string | undefined
}

interface ExportOptions extends Partial<TranscriptRequest>, ExportFilter {
  readonly messages?: TableFormat
}

/** Prints the list of messages if `messages` names a format, or else a conversation. */
export async function runExport(
  output: ApiOutput,
  { messages, format, thread, owner, ...filter }: ExportOptions,
): Promise<void> {
  if (messages !== undefined) return exportMessages(output, messages, parsePeriod(filter))
  if (format === undefined || thread === undefined)
    throw new CommandError(
      'cannot export: name a conversation with --format and --thread, or use --messages for the list of messages',
    )
  await exportTranscript(output, { format, thread, owner })
}

/** Prints a conversation as a JSON list, or with `jsonl` one entry per line. */
async function exportTranscript(output: ApiOutput, request: TranscriptRequest): Promise<void> {
  await withClient(output, async client => {
    const lines = client.readLines(transcriptOperations.export, { query: toThreadQuery(request) })
    if (request.format === 'jsonl') for await (const line of lines) output.print(line)
    else await printMessages(lines, output)
  })
}

/** Prints messages as `JSON.stringify` formats a list, one message after the other. */
async function printMessages(lines: AsyncIterable<string>, { print }: ApiOutput): Promise<void> {
  let lastMessage: string | undefined
  for await (const line of lines) {
    print(lastMessage === undefined ? '[' : `${lastMessage},`)
    lastMessage = JSON.stringify(parseJsonText(line), null, 2).replace(/^/gm, '  ')
  }
  print(lastMessage === undefined ? '[]' : `${lastMessage}\n]`)
}

/** Imports a file in the form that `export` prints. The path `-` is standard input. */
export async function importTranscript(
  output: ApiOutput,
  { path, ...request }: TranscriptRequest & { readonly path: string },
): Promise<void> {
  const messages = readMessages(path, request.format)
  const input = { query: toThreadQuery(request), body: { messages } }
  await printAnswer(output, {
    operation: transcriptOperations.import,
    input,
    format({ entries, added, findings }) {
      const findingLines = findings.map(({ index, message }) => `message ${index}: ${message}`)
      return [`${entries} entries, ${added} of them new`, ...findingLines].join('\n')
    },
  })
}

type ThreadQuery = NonNullable<OperationInput<typeof transcriptOperations.export>['query']>

/** Converts the options to the query of the operation. It does not check the format, because the gateway refuses an unknown one. */
function toThreadQuery({ format, ...thread }: TranscriptRequest): ThreadQuery {
  return { ...thread, format: format as ThreadQuery['format'] }
}

function readText(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (cause) {
    throw new CommandError(`${path} cannot be read`, { cause })
  }
}

function readMessages(path: string, format: string): unknown[] {
  const text = readText(path)
  try {
    const parsedContent: unknown =
      format === 'jsonl'
        ? text
            .split('\n')
            .filter(Boolean)
            .map(line => parseJsonText(line))
        : parseJsonText(text)
    if (Array.isArray(parsedContent)) return parsedContent
  } catch (cause) {
    throw new CommandError(`${path} is not ${format === 'jsonl' ? 'one JSON value a line' : 'JSON'}`, { cause })
  }
  throw new CommandError(`${path} has no list of messages`)
}
