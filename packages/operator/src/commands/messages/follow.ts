// Prints messages as they arrive and change, until the gateway ends.
import type { MessageSummary } from '@postern/pipeline'
import type { OperatorClient } from '../../client/client.ts'
import { CommandError } from '../../client/client.ts'
import { toTerminalLine } from '../../terminal/text.ts'
import type { Output } from '../context.ts'
import { eventOperation } from '../events/route.ts'
import type { MessageFilter } from './operations.ts'
import { messageOperations } from './operations.ts'

/** The maximum number of pages to read for messages since the last printed line. */
const maxPages = 20

/** Prints the newest messages, and then each one that arrives or changes its state, until the gateway ends. */
export async function followMessages(client: OperatorClient, output: Output, filter: MessageFilter): Promise<void> {
  if (!client.isRunning) throw new CommandError('no gateway is running here; start one to follow its messages')
  const printedLines = new Map<number, string>()
  const print = (message: MessageSummary) => {
    const line = formatFollowed(message)
    if (printedLines.get(message.message) === line) return
    printedLines.set(message.message, line)
    // The map drops its oldest message, so that it stays small.
    const [oldest] = printedLines.keys()
    if (printedLines.size > 1_000 && oldest !== undefined) printedLines.delete(oldest)
    output.print(output.json ? JSON.stringify(message) : line)
  }
  const { agent, channel } = filter
  const query = { agent, channel, kind: ['message' as const, 'turn' as const] }
  const reader = createRepeatedReading(async () => {
    for (const message of await listNewMessages(client, filter, printedLines)) print(message)
  })
  for await (const line of client.readLines(eventOperation, { query })) {
    if (reader.failure) throw reader.failure
    if (line.startsWith('event: ')) reader.wake()
  }
  await reader.waitUntilIdle()
  // A gateway that is shutting down may refuse the last list. Its end is the more helpful message.
  throw new CommandError('the gateway has ended')
}

interface RepeatedReading {
  /** Reads again. Calls during a read cause one more read. */
  wake(): void
  waitUntilIdle(): Promise<void>
  /** The error that ended reading; undefined if there was none. */
  readonly failure: unknown
}

function createRepeatedReading(read: () => Promise<void>): RepeatedReading {
  let isStale = false
  let failure: unknown
  let reading: Promise<void> | undefined
  const readAll = async () => {
    while (isStale && failure === undefined) {
      isStale = false
      await read().catch(error => {
        failure = error
      })
    }
    reading = undefined
  }
  return {
    wake() {
      isStale = true
      reading ??= readAll()
    },
    waitUntilIdle: async () => reading,
    get failure() {
      return failure
    },
  }
}

/** Lists the newest messages of the filter, oldest first, back to a page with a printed message. */
async function listNewMessages(
  client: OperatorClient,
  filter: MessageFilter,
  printedLines: ReadonlyMap<number, string>,
): Promise<readonly MessageSummary[]> {
  const newestMessages: MessageSummary[] = []
  let after: number | undefined
  for (let page = 0; page < maxPages; page += 1) {
    const { items, next } = await client.call(messageOperations.list, { query: { ...filter, after } })
    newestMessages.push(...items)
    if (next === null || printedLines.size === 0 || items.some(({ message }) => printedLines.has(message))) break
    after = next
  }
  return newestMessages.toReversed()
}

/** Formats one message as a line. */
function formatFollowed({ message, received_at, via, agent, state, flags, sender, verified, preview }: MessageSummary) {
  const shownSender = verified ? sender : `${sender}?`
  const stateText = [state, ...flags].join(' ')
  return toTerminalLine(
    `#${message}  ${received_at.slice(11, 19)}  ${via}  ${agent}  ${stateText}  ${shownSender}  ${preview}`,
  )
}
