import type { DeliveryRecord, MessageRecord, MessageSummary, PublishedKey } from '@postern/core'
import type { ConfigFile } from '../config/read-config.ts'
import type { DeliveryChange } from '../operator/routes.ts'
import { toTerminalLine } from '../terminal-text.ts'
import type { OperatorClient } from './operator-client.ts'
import { CommandError, openOperatorClient } from './operator-client.ts'
import { formatRecord } from './show.ts'
import { formatTable } from './table.ts'

export interface Output {
  readonly json: boolean
  print(text: string): void
}

/** Asks the operator API one thing and prints it, for people or as JSON. */
async function ask<Answer>(
  file: ConfigFile,
  output: Output,
  path: string,
  format: (answer: Answer) => string,
): Promise<void> {
  const client = await openOperatorClient(file)
  try {
    const answer = (await client.request(path)) as Answer
    output.print(output.json ? JSON.stringify(answer, null, 2) : format(answer))
  } finally {
    await client.close()
  }
}

export function printMessages(file: ConfigFile, output: Output, limit: string): Promise<void> {
  return ask<{ messages: readonly MessageSummary[] }>(
    file,
    output,
    `/operator/api/messages?limit=${encodeURIComponent(limit)}`,
    ({ messages }) =>
      formatTable(
        ['#', 'received', 'via', 'agent', 'state', 'sender', 'id'],
        messages.map(({ message, received_at, via, agent, state, flags, sender, verified, id }) => [
          `#${message}`,
          received_at.slice(0, 19),
          via,
          agent,
          [state, ...flags].join(' '),
          verified ? sender : `${sender}?`,
          id,
        ]),
      ),
  )
}

export function printMessage(file: ConfigFile, output: Output, id: string): Promise<void> {
  return ask<MessageRecord>(file, output, `/operator/api/messages/${encodeURIComponent(id)}`, formatRecord)
}

export function printDeliveries(file: ConfigFile, output: Output, state: string | undefined): Promise<void> {
  const query = state ? `?state=${encodeURIComponent(state)}` : ''
  return ask<{ deliveries: readonly DeliveryRecord[] }>(
    file,
    output,
    `/operator/api/deliveries${query}`,
    ({ deliveries }) =>
      formatTable(
        ['id', 'via', 'state', 'tries', 'to', 'last error'],
        deliveries.map(({ id, via, state, attempts, to, last_error }) => [
          id,
          via,
          state,
          String(attempts),
          to,
          last_error ?? '',
        ]),
      ),
  )
}

export async function changeDelivery(
  file: ConfigFile,
  output: Output,
  action: DeliveryChange,
  id: string,
): Promise<void> {
  const client = await openOperatorClient(file)
  try {
    await client.request(`/operator/api/deliveries/${encodeURIComponent(id)}/${action}`, { method: 'POST' })
    output.print(`${id}: ${changeWords[action]}`)
  } finally {
    await client.close()
  }
}

const changeWords: Readonly<Record<DeliveryChange, string>> = {
  retry: 'tried again now',
  drop: 'dropped',
  dismiss: 'dismissed',
}

interface Keys {
  readonly keys: readonly PublishedKey[]
}

export function printKeys(file: ConfigFile, output: Output): Promise<void> {
  return ask<Keys>(file, output, '/operator/api/keys', formatKeys)
}

/** New keys for one agent, or for all there are; with `revoke` the old ones count no more from now on. */
export async function rotateKeys(
  file: ConfigFile,
  output: Output,
  { agent, revoke }: { readonly agent: string | undefined; readonly revoke: boolean },
): Promise<void> {
  const client = await openOperatorClient(file)
  try {
    const rotated = (await client.request('/operator/api/keys/rotate', {
      method: 'POST',
      body: { agent, revoke },
    })) as Keys
    output.print(output.json ? JSON.stringify(rotated, null, 2) : formatRotated(rotated, revoke))
  } finally {
    await client.close()
  }
}

function formatRotated(rotated: Keys, isRevoking: boolean): string {
  const disposition = isRevoking ? 'are not published any more' : 'stay published for a week'
  const publish = rotated.keys.some(({ dns }) => dns)
    ? ' Publish the DNS records now: what is signed is checked there.'
    : ''
  return `${formatKeys(rotated)}\n\nThese sign from now on; the old ones ${disposition}.${publish}`
}

function formatKeys({ keys }: Keys): string {
  return keys
    .map(({ purpose, id, algorithm, publicKey, dns }) =>
      [
        `${purpose}: ${id} (${algorithm})`,
        publicKey.trim(),
        ...(dns ? [`DNS  ${dns.name}  ${dns.type}  "${dns.value}"`] : []),
      ].join('\n'),
    )
    .join('\n\n')
}

interface Sent {
  readonly id: string
  readonly status: string
  readonly thread: string
  readonly reply?: { readonly text: string } | undefined
  readonly refusal?: { readonly answer: number; readonly text: string } | undefined
}

export async function sendSimulated(
  file: ConfigFile,
  output: Output,
  request: Record<string, string | undefined>,
): Promise<void> {
  const client = await openOperatorClient(file)
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
  if (!isSimulating) throw new CommandError('the gateway that runs here has no simulated world; "npm start" has one')
}
