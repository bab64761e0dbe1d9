import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MessageRecord, MessageSummary, PublishedKey, Refusal } from '@postern/core'
import { waitUntil } from './eventually.ts'
import { ourOrigin, ports } from './names.ts'
import { runCommand } from './run-command.ts'

/** Our own program, started as an operator starts it. */
export interface OurGateway {
  readonly actor: string
  messages(): Promise<readonly MessageRecord[]>
  refusals(): Promise<readonly Refusal[]>
  followerCount(): Promise<number>
  keys(): Promise<readonly PublishedKey[]>
  /** One of our commands, as its operator gives it. */
  postern(...words: readonly string[]): Promise<string>
  /** What the agent does of itself. */
  act(acts: readonly unknown[]): Promise<void>
  /** The status of what somebody gets who does not sign. */
  lookAsStranger(id: string): Promise<number>
  /** What it printed. */
  log(): string
  stop(): Promise<void>
}

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
const patientAgent = fileURLToPath(new URL('../agents/waiting/patient.ts', import.meta.url))
const operatorToken = 'operator-token-of-the-peers-exam'

interface GatewaySettings {
  /** An authority that is trusted beside the others. */
  readonly caPath?: string | undefined
  /** More of the configuration. */
  readonly more: Readonly<Record<string, unknown>>
}

/** Production mode, which differs from an operator's in nothing but `settings`. */
export async function startOurGateway(directory: string, { caPath, more }: GatewaySettings): Promise<OurGateway> {
  const path = join(directory, 'postern.config.json')
  const config = {
    origin: ourOrigin,
    listen: { port: ports.gateway },
    data: join(directory, 'data'),
    operator_token: operatorToken,
    agents: {
      echo: { name: 'Echo', description: 'Answers what you said', use: 'builtin:echo' },
      patient: { name: 'Patient', description: 'Thinks first', use: patientAgent },
    },
    delivery: { retry_after: 1 },
    ...more,
  }
  writeFileSync(path, JSON.stringify(config))
  const env = { ...process.env, ...(caPath && { NODE_EXTRA_CA_CERTS: caPath }) }
  const child = spawn(process.execPath, [program, 'start', '--config', path], { env })
  let log = ''
  const read = (chunk: Buffer) => {
    log += chunk.toString()
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  await waitUntil('our gateway listens', () => {
    if (child.exitCode !== null) throw new Error(`our gateway ended: ${log}`)
    return log.includes('listens on') || undefined
  })
  const actor = `${ourOrigin}/agents/echo`
  return {
    actor,
    async messages() {
      const { items: messages } = await ask<{ items: readonly MessageSummary[] }>('/messages?limit=500')
      return Promise.all(messages.map(({ id }) => ask<MessageRecord>(`/messages/${encodeURIComponent(id)}`)))
    },
    refusals: async () => (await ask<{ items: readonly Refusal[] }>('/refusals?limit=100')).items,
    async followerCount() {
      const answer = await look('/agents/echo/followers')
      return ((await answer.json()) as { totalItems: number }).totalItems
    },
    keys: async () => (await ask<{ keys: readonly PublishedKey[] }>('/keys')).keys,
    postern: (...words) => runCommand(process.execPath, [program, ...words, '--config', path]),
    async act(acts) {
      await ask('/agents/echo/acts', { method: 'POST', body: JSON.stringify({ acts }) })
    },
    lookAsStranger: async id => (await look(new URL(id).pathname)).status,
    log: () => log,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

function look(path: string): Promise<Response> {
  const accept = 'application/activity+json'
  return fetch(`http://127.0.0.1:${ports.gateway}${path}`, { headers: { accept } })
}

async function ask<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const answer = await fetch(`http://127.0.0.1:${ports.gateway}/operator/api${path}`, { ...init, headers })
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`)
  return (await answer.json()) as Answer
}
