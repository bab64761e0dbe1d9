import type { MessageSummary } from '@postern/core'
import { toTerminalLine } from '../../terminal/text.ts'
import type { OperatorClient } from '../client.ts'
import { CommandError } from '../client.ts'
import type { Output } from '../context.ts'
import { eventOperation } from '../events/route.ts'
import type { MessageFilter } from './operations.ts'
import { messageOperations } from './operations.ts'

/** Pages that are read at most for what came since the last line. */
const mostPages = 20

/** Prints the newest messages, and then each one that comes or changes its state, until the gateway ends. */
export async function followMessages(client: OperatorClient, output: Output, filter: MessageFilter): Promise<void> {
  if (!client.isRunning) throw new CommandError('no gateway is running here; start one, then follow its messages')
  const printed = new Map<number, string>()
  const print = (message: MessageSummary) => {
    const line = formatFollowed(message)
    if (printed.get(message.message) === line) return
    printed.set(message.message, line)
    // Only the newest change still.
    const [oldest] = printed.keys()
    if (printed.size > 1_000 && oldest !== undefined) printed.delete(oldest)
    output.print(output.json ? JSON.stringify(message) : line)
  }
  const { agent, channel } = filter
  const query = { agent, channel, kind: ['message' as const, 'turn' as const] }
  const reader = readAgain(() => printNew(client, filter, print, printed))
  for await (const line of client.readLines(eventOperation, { query })) {
    if (reader.failure) throw reader.failure
    if (line.startsWith('event: ')) reader.wake()
  }
  await reader.rest()
  // A list that a gateway refuses while it ends says less than its end does.
  throw new CommandError('the gateway has ended')
}

interface RepeatedReading {
  /** Reads; while it reads, many calls are one further reading. */
  wake(): void
  rest(): Promise<void>
  /** Of a reading; it was the last one. */
  readonly failure: unknown
}

function readAgain(read: () => Promise<void>): RepeatedReading {
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
    rest: async () => reading,
    get failure() {
      return failure
    },
  }
}

/** The newest ones with the filter, down to those that are printed already; oldest first. */
async function printNew(
  client: OperatorClient,
  filter: MessageFilter,
  print: (message: MessageSummary) => void,
  printed: ReadonlyMap<number, string>,
): Promise<void> {
  const found: MessageSummary[] = []
  let after: number | undefined
  for (let page = 0; page < mostPages; page += 1) {
    const { items, next } = await client.call(messageOperations.list, { query: { ...filter, after } })
    found.push(...items)
    if (next === null || printed.size === 0 || items.some(({ message }) => printed.has(message))) break
    after = next
  }
  for (const message of found.toReversed()) print(message)
}

/** One message as a line. */
function formatFollowed({ message, received_at, via, agent, state, flags, sender, verified, preview }: MessageSummary) {
  const who = verified ? sender : `${sender}?`
  const standing = [state, ...flags].join(' ')
  return toTerminalLine(`#${message}  ${received_at.slice(11, 19)}  ${via}  ${agent}  ${standing}  ${who}  ${preview}`)
}
