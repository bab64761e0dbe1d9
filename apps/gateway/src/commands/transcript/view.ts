import { readFileSync } from 'node:fs'
import { parseJsonText } from '@postern/core'
import type { OperationInput } from '../../api/call.ts'
import { CommandError, withClient } from '../client.ts'
import type { ApiOutput } from '../context.ts'
import { printAnswer } from '../print-list.ts'
import { transcriptOperations } from './route.ts'

export interface TranscriptRequest {
  readonly format: string
  readonly thread: string
  readonly owner?: string | undefined
}

/** A conversation in one format: a JSON list, or with `jsonl` one entry a line. */
export async function exportTranscript(output: ApiOutput, request: TranscriptRequest): Promise<void> {
  await withClient(output, async client => {
    const lines = client.readLines(transcriptOperations.export, { query: readPlace(request) })
    if (request.format === 'jsonl') for await (const line of lines) output.print(line)
    else await printMessages(lines, output)
  })
}

/** As `JSON.stringify` would, but one message after the other. */
async function printMessages(lines: AsyncIterable<string>, { print }: ApiOutput): Promise<void> {
  let before: string | undefined
  for await (const line of lines) {
    print(before === undefined ? '[' : `${before},`)
    before = JSON.stringify(parseJsonText(line), null, 2).replace(/^/gm, '  ')
  }
  print(before === undefined ? '[]' : `${before}\n]`)
}

/** What `export` wrote, or anything of its form; `-` is standard input. */
export async function importTranscript(
  output: ApiOutput,
  { path, ...request }: TranscriptRequest & { readonly path: string },
): Promise<void> {
  const messages = readMessages(path, request.format)
  const input = { query: readPlace(request), body: { messages } }
  await printAnswer(output, transcriptOperations.import, input, ({ entries, added, findings }) => {
    const noticed = findings.map(({ index, message }) => `message ${index}: ${message}`)
    return [`${entries} entries, ${added} of them new`, ...noticed].join('\n')
  })
}

type Place = NonNullable<OperationInput<typeof transcriptOperations.export>['query']>

/** The gateway refuses a format that it does not know. */
function readPlace({ format, ...place }: TranscriptRequest): Place {
  return { ...place, format: format as Place['format'] }
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
    const read: unknown =
      format === 'jsonl'
        ? text
            .split('\n')
            .filter(Boolean)
            .map(line => parseJsonText(line))
        : parseJsonText(text)
    if (Array.isArray(read)) return read
  } catch (cause) {
    throw new CommandError(`${path} is not ${format === 'jsonl' ? 'one JSON value a line' : 'JSON'}`, { cause })
  }
  throw new CommandError(`${path} holds no list of messages`)
}
