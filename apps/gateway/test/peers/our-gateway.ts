// Starts our gateway for an exam.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MessageRecord, MessageSummary, PublishedKey, Refusal } from '@postern/pipeline'
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
  /** Runs one of our commands, as an operator does. */
  postern(...args: readonly string[]): Promise<string>
  /** Has the agent act without being asked. */
  performActions(acts: readonly unknown[]): Promise<void>
  /** Fetches an object without a signature. Returns the status. */
  fetchAsStranger(id: string): Promise<number>
  /** Returns all that the gateway has printed. */
  log(): string
  stop(): Promise<void>
}

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
const patientAgent = fileURLToPath(new URL('../agents/waiting/patient.ts', import.meta.url))
const operatorToken = 'operator-token-of-the-peers-exam'

interface GatewaySettings {
  /** The file of an authority that is trusted in addition to the others; absent for none. */
  readonly caPath?: string | undefined
  /** Further members of the configuration. */
  readonly overrides?: Readonly<Record<string, unknown>> | undefined
}

/** Starts the gateway in production mode, which differs from an operator's only in `settings`. */
export async function startOurGateway(directory: string, { caPath, overrides }: GatewaySettings): Promise<OurGateway> {
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
    ...overrides,
  }
  writeFileSync(path, JSON.stringify(config))
  const env = { ...process.env, ...(caPath && { NODE_EXTRA_CA_CERTS: caPath }) }
  const child = spawn(process.execPath, [program, 'start', '--config', path], { env })
  let log = ''
  const collectOutput = (chunk: Buffer) => {
    log += chunk.toString()
  }
  child.stdout.on('data', collectOutput)
  child.stderr.on('data', collectOutput)
  await waitUntil('our gateway listens', () => {
    if (child.exitCode !== null) throw new Error(`our gateway ended: ${log}`)
    return log.includes('listens on') || undefined
  })
  const actor = `${ourOrigin}/agents/echo`
  return {
    actor,
    async messages() {
      const { items: messages } = await requestOperator<{ items: readonly MessageSummary[] }>('/messages?limit=500')
      return Promise.all(
        messages.map(({ id }) => requestOperator<MessageRecord>(`/messages/${encodeURIComponent(id)}`)),
      )
    },
    refusals: async () => (await requestOperator<{ items: readonly Refusal[] }>('/refusals?limit=100')).items,
    async followerCount() {
      const response = await fetchPath('/agents/echo/followers')
      return ((await response.json()) as { totalItems: number }).totalItems
    },
    keys: async () => (await requestOperator<{ keys: readonly PublishedKey[] }>('/keys')).keys,
    postern: (...args) => runCommand(process.execPath, [program, ...args, '--config', path]),
    async performActions(acts) {
      await requestOperator('/agents/echo/acts', { method: 'POST', body: JSON.stringify({ acts }) })
    },
    fetchAsStranger: async id => (await fetchPath(new URL(id).pathname)).status,
    log: () => log,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

function fetchPath(path: string): Promise<Response> {
  const accept = 'application/activity+json'
  return fetch(`http://127.0.0.1:${ports.gateway}${path}`, { headers: { accept } })
}

async function requestOperator<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const response = await fetch(`http://127.0.0.1:${ports.gateway}/operator/api${path}`, { ...init, headers })
  if (!response.ok) throw new Error(`${path}: ${response.status}`)
  return (await response.json()) as Answer
}
