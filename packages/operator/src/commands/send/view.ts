// Sends a message from the simulation, and prints the answer.
import { parseJsonText } from '@postern/message'
import type { ApiAccess, OperatorClient } from '../../client/client.ts'
import { CommandError, withClient } from '../../client/client.ts'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ApiOutput, CommandContext, ProgramChannels } from '../context.ts'
import type { ExpectedEnd, SendProgress, SentMessage, SimulatedChoices } from './operations.ts'
import { simulationOperations } from './operations.ts'
import { readSentFiles } from './read-files.ts'

interface SimulatedMessage {
  readonly via?: string | undefined
  readonly to: string
  readonly text?: string | undefined
  readonly from?: string | undefined
  readonly visibility?: string | undefined
  readonly fault?: string | undefined
  readonly thread?: string | undefined
}

interface SimulatedSending extends SimulatedMessage {
  /** Paths of files to attach. */
  readonly file?: readonly string[] | undefined
  /** The longest wait for the answer, seconds. */
  readonly timeout?: number | undefined
}

/** Sends one message, or with `list` prints what the simulation can send. */
export async function runSend(
  output: ApiOutput,
  { list, ...options }: SimulatedSending & { readonly list?: boolean },
  { loadChannels }: Pick<CommandContext, 'loadChannels'>,
): Promise<void> {
  const { resolveAlias } = await loadChannels()
  if (list) await printCatalogue(output, options, resolveAlias)
  else await sendSimulated(output, options, resolveAlias)
}

/** The time after which the command reports that the agent is still working, ms. */
const progressDelayMs = 2_000

/** Sends one message. The exit code is 1 if the result differs from the one in the catalogue. */
export async function sendSimulated(
  output: ApiOutput,
  { timeout, file: paths = [], ...message }: SimulatedSending,
  resolveAlias: ProgramChannels['resolveAlias'],
): Promise<void> {
  const { via, text = paths.length > 0 ? '' : undefined } = message
  if (text === undefined || via === undefined)
    throw new CommandError(
      'cannot send: a text or --file <path>, and --via <channel> are needed; "postern send --list" shows the choices',
    )
  const request = { ...message, via: resolveAlias(via), text }
  const files = paths.length > 0 ? { files: [...(await readSentFiles(paths))] } : {}
  const body = { ...request, ...files, timeout_seconds: timeout }
  const sentMessage = await withSimulation(output, client =>
    readResult(client.readLines(simulationOperations.send, { body }), output),
  )
  output.print(output.json ? JSON.stringify(sentMessage, null, 2) : formatSent(sentMessage, request))
  if (!isAsExpected(sentMessage, sentMessage.expected)) process.exitCode = 1
}

/** Reads progress and result of a message, and reports that the agent is still working if the answer takes long. */
async function readResult(lines: AsyncIterable<string>, output: ApiOutput): Promise<SentMessage> {
  let progress: SendProgress | undefined
  let timer: NodeJS.Timeout | undefined
  try {
    for await (const text of lines) {
      const line = parseJsonText(text) as SendProgress | SentMessage
      if ('expected' in line) return line
      progress = line
      if (!output.json) timer ??= setTimeout(() => output.print(formatProgress(line)), progressDelayMs)
    }
  } catch (cause) {
    if (!progress) throw cause
  } finally {
    clearTimeout(timer)
  }
  throw new CommandError(
    progress
      ? `the gateway ended the connection. The message is stored. See it with: ${formatShowCommand(progress)}`
      : 'the gateway ended the connection before it stored the message',
  )
}

/** Prints what the simulation can send, filtered by channel, persona, visibility and fault. */
export async function printCatalogue(
  output: ApiOutput,
  { via, from, visibility, fault }: Omit<SimulatedMessage, 'to'>,
  resolveAlias: ProgramChannels['resolveAlias'],
): Promise<void> {
  const catalogue = await withSimulation(output, client => client.call(simulationOperations.describe, {}))
  const channel = via === undefined ? undefined : resolveAlias(via)
  const filters = Object.entries({ via: channel, from, visibility, fault }).filter(([, word]) => word !== undefined)
  const entries = catalogue.entries.filter(entry =>
    filters.every(([name, word]) => entry[name as keyof SimulatedChoices['entries'][number]] === word),
  )
  output.print(
    output.json ? JSON.stringify({ ...catalogue, entries }, null, 2) : formatCatalogue({ ...catalogue, entries }),
  )
}

function formatCatalogue({ personas, faults, entries }: SimulatedChoices): string {
  const listedPersonas = personas.filter(({ via, from }) =>
    entries.some(entry => entry.via === via && entry.from === from),
  )
  const listedFaults = faults.filter(({ fault }) => entries.some(entry => entry.fault === fault))
  return [
    formatTable(
      ['via', 'from', 'who it is'],
      listedPersonas.map(({ via, from, what }) => [via, from, what]),
    ),
    formatTable(
      ['fault', 'what is wrong'],
      listedFaults.map(({ fault, what }) => [fault, what]),
    ),
    formatTable(
      ['via', 'from', 'visibility', 'fault', 'expected result'],
      entries.map(({ via, from, visibility = '', fault = '', expected }) => [
        via,
        from,
        visibility,
        fault,
        formatOutcome(expected),
      ]),
    ),
  ].join('\n\n')
}

function formatOutcome(expected: ExpectedEnd): string {
  switch (expected.outcome) {
    case 'answered':
      return 'answered'
    case 'kept':
      return `kept without an answer (${expected.flag})`
    case 'refused':
      return `refused: ${expected.answer} ${expected.code}`
    case 'later':
      return `asked to come back: ${expected.answer}`
  }
}

/** Formats a refusal. A reply of SMTP already begins with its code. */
function formatRefusal({ answer, text }: NonNullable<SentMessage['refusal']>): string {
  return toTerminalLine(text.startsWith(`${answer} `) ? text : `${answer} ${text}`)
}

function formatShowCommand({ id }: Pick<SentMessage, 'id'>): string {
  return `npx postern show "${id}"`
}

function formatProgress(progress: SendProgress): string {
  const { id, wait_seconds: seconds } = progress
  return [
    `stored    ${id}`,
    `working   the agent has not answered yet; this command waits ${seconds} s at most`,
    `look      ${formatShowCommand(progress)}`,
  ].join('\n')
}

/** The states of a message whose turn continued after the wait ended. The last one belongs to a task. */
const unfinished: ReadonlySet<string> = new Set(['working', 'submitted'])

function formatAnswer({ status, reply }: SentMessage): string {
  if (reply && reply.text !== '') return `answered  ${reply.text.split('\n').map(toTerminalLine).join('\n          ')}`
  if (reply && !unfinished.has(status)) return 'answered  without text; --json shows the answer'
  return unfinished.has(status)
    ? 'stored    the agent still works: the gateway has the message and delivers the answer when it comes'
    : 'stored    the turn is over without an answer'
}

function formatSent(sentMessage: SentMessage, { via, to, from, visibility }: SimulatedMessage): string {
  const { id, status, thread, refusal, expected } = sentMessage
  const expectedLines = isAsExpected(sentMessage, expected) ? [] : [`expected  ${formatOutcome(expected)}`]
  const sentLine = `sent      ${id} (${status})`
  if (refusal) return [sentLine, `answer    ${formatRefusal(refusal)}`, ...expectedLines].join('\n')
  const repeatOptions = [from && `--from ${from}`, visibility && `--visibility ${visibility}`].filter(Boolean)
  return [
    sentLine,
    formatAnswer(sentMessage),
    ...expectedLines,
    `look      ${formatShowCommand(sentMessage)}`,
    `go on     npx postern send ${[`--via ${via} --to ${to}`, ...repeatOptions].join(' ')} --thread "${thread}" "…"`,
  ].join('\n')
}

function withSimulation<Answer>(access: ApiAccess, run: (client: OperatorClient) => Promise<Answer>) {
  return withClient(access, client => {
    const { isRunning, isSimulating } = client
    if (!isRunning) throw new CommandError('no gateway is running here; start one with "npm start"')
    if (!isSimulating) throw new CommandError('the gateway that runs here has no simulation; "npm start" has one')
    return run(client)
  })
}

/** Returns true if a message ended as the catalogue expects, as far as its sender can see. */
function isAsExpected({ status, reply, refusal }: SentMessage, expected: ExpectedEnd) {
  switch (expected.outcome) {
    case 'answered':
      return refusal === undefined && reply !== undefined && !unfinished.has(status)
    case 'kept':
      return refusal === undefined && status === 'no_reply'
    default:
      return refusal?.answer === expected.answer
  }
}
