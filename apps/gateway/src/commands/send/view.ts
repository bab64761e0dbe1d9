import { toTerminalLine } from '../../terminal/text.ts'
import type { ClientOpener, OperatorClient } from '../client.ts'
import { CommandError } from '../client.ts'
import type { Output } from '../context.ts'

interface Sent {
  readonly id: string
  readonly status: string
  readonly thread: string
  readonly reply?: { readonly text: string } | undefined
  readonly refusal?: { readonly answer: number; readonly text: string } | undefined
}

export async function sendSimulated(
  openClient: ClientOpener,
  output: Output,
  request: Record<string, string | undefined>,
): Promise<void> {
  const client = await openClient()
  try {
    requireSimulation(client)
    const sent = (await client.request('/operator/api/simulation/send', { method: 'POST', body: request })) as Sent
    output.print(output.json ? JSON.stringify(sent, null, 2) : formatSent(sent, request))
    if (sent.refusal) process.exitCode = 1
  } finally {
    await client.close()
  }
}

function formatSent(
  { id, status, thread, reply, refusal }: Sent,
  { via, to }: Record<string, string | undefined>,
): string {
  const sent = `sent      ${id} (${status})`
  if (refusal) return `${sent}\nanswer    ${refusal.answer} ${toTerminalLine(refusal.text)}`
  const lines = reply?.text.split('\n').map(toTerminalLine)
  return [
    sent,
    lines ? `answered  ${lines.join('\n          ')}` : 'no answer came back in time',
    `look      npx postern show "${id}"`,
    `go on     npx postern send --via ${via} --to ${to} --thread "${thread}" "…"`,
  ].join('\n')
}

function requireSimulation({ isRunning, isSimulating }: OperatorClient): void {
  if (!isRunning) throw new CommandError('no gateway is running here; start one with "npm start"')
  if (!isSimulating) throw new CommandError('the gateway that runs here has no simulation; "npm start" has one')
}
