import type { CatalogueEntry, ExpectedOutcome, SendResult, SimulationCatalogue } from '@postern/simulation'
import type { OperationAnswer } from '../../api/operation.ts'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ApiAccess, OperatorClient } from '../client.ts'
import { CommandError, withClient } from '../client.ts'
import type { ApiOutput } from '../context.ts'
import { simulationOperations } from './operations.ts'

interface SendWords {
  readonly via?: string | undefined
  readonly to: string
  readonly text?: string | undefined
  readonly from?: string | undefined
  readonly visibility?: string | undefined
  readonly fault?: string | undefined
  readonly thread?: string | undefined
}

type Sent = OperationAnswer<typeof simulationOperations.send>

/** Sends one message; the exit code says whether it ended as the catalogue has it. */
export async function sendSimulated(output: ApiOutput, request: SendWords): Promise<void> {
  if (request.text === undefined || request.via === undefined)
    throw new CommandError(
      'cannot send: a text and --via <channel> are needed; "postern send --list" shows what there is',
    )
  const body = { ...request, via: request.via, text: request.text }
  const sent = await withSimulation(output, client => client.call(simulationOperations.send, { body }))
  output.print(output.json ? JSON.stringify(sent, null, 2) : formatSent(sent, request))
  if (!isAsExpected(sent, sent.expected)) process.exitCode = 1
}

/** Prints what the simulation can send, of one channel, persona or fault where one is named. */
export async function printCatalogue(
  output: ApiOutput,
  { via, from, visibility, fault }: Omit<SendWords, 'to'>,
): Promise<void> {
  const all = await withSimulation(output, client => client.call(simulationOperations.describe, {}))
  const wanted = Object.entries({ via, from, visibility, fault }).filter(([, word]) => word !== undefined)
  const entries = all.entries.filter(entry =>
    wanted.every(([name, word]) => entry[name as keyof CatalogueEntry] === word),
  )
  output.print(output.json ? JSON.stringify({ ...all, entries }, null, 2) : formatCatalogue({ ...all, entries }))
}

function formatCatalogue({ personas, faults, entries }: SimulationCatalogue): string {
  const named = personas.filter(({ via, from }) => entries.some(entry => entry.via === via && entry.from === from))
  const wrong = faults.filter(({ fault }) => entries.some(entry => entry.fault === fault))
  return [
    formatTable(
      ['via', 'from', 'who it is'],
      named.map(({ via, from, what }) => [via, from, what]),
    ),
    formatTable(
      ['fault', 'what is wrong'],
      wrong.map(({ fault, what }) => [fault, what]),
    ),
    formatTable(
      ['via', 'from', 'visibility', 'fault', 'leads to'],
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

function formatOutcome(expected: ExpectedOutcome): string {
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

/** A reply of SMTP begins with its code already. */
function formatRefusal({ answer, text }: NonNullable<Sent['refusal']>): string {
  return toTerminalLine(text.startsWith(`${answer} `) ? text : `${answer} ${text}`)
}

function formatSent(
  { id, status, thread, reply, refusal, expected }: Sent,
  { via, to, from, visibility }: SendWords,
): string {
  const surprise = isAsExpected({ status, refusal }, expected) ? [] : [`expected  ${formatOutcome(expected)}`]
  const sent = `sent      ${id} (${status})`
  if (refusal) return [sent, `answer    ${formatRefusal(refusal)}`, ...surprise].join('\n')
  const lines = reply?.text.split('\n').map(toTerminalLine)
  const again = [from && `--from ${from}`, visibility && `--visibility ${visibility}`].filter(Boolean)
  return [
    sent,
    lines ? `answered  ${lines.join('\n          ')}` : 'no answer came back in time',
    ...surprise,
    `look      npx postern show "${id}"`,
    `go on     npx postern send ${[`--via ${via} --to ${to}`, ...again].join(' ')} --thread "${thread}" "…"`,
  ].join('\n')
}

function withSimulation<Answer>(access: ApiAccess, ask: (client: OperatorClient) => Promise<Answer>) {
  return withClient(access, client => {
    const { isRunning, isSimulating } = client
    if (!isRunning) throw new CommandError('no gateway is running here; start one with "npm start"')
    if (!isSimulating) throw new CommandError('the gateway that runs here has no simulation; "npm start" has one')
    return ask(client)
  })
}

/** Whether a message ended as the catalogue has it, as far as its sender can see. */
function isAsExpected({ status, refusal }: Pick<SendResult, 'status' | 'refusal'>, expected: ExpectedOutcome) {
  switch (expected.outcome) {
    case 'answered':
      return refusal === undefined && status !== 'no_reply'
    case 'kept':
      return refusal === undefined && status === 'no_reply'
    default:
      return refusal?.answer === expected.answer
  }
}
