// Opens two processes of one gateway on one database.
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '@postern/testing/free-port'
import type { EventReader } from '../operator/read-events.ts'
import { openEvents } from '../operator/read-events.ts'
import { operatorToken } from '../setup/gateway.ts'
import type { GatewayProcess } from '../setup/gateway-process.ts'
import { createGatewayProcess } from '../setup/gateway-process.ts'

const apiKey = 'the-key-of-the-tests'

export interface PairedGateway extends GatewayProcess {
  readonly url: string
  /** Sends a message of a client, and returns the answer. */
  send(message: ClientMessage): Promise<PairAnswer>
  /** Makes any call of A2A. */
  call(method: string, params: object): Promise<PairAnswer>
  ask<Told>(path: string): Promise<Told>
  /** Gets a path without a key. Returns the answer within ten seconds. */
  probe(path: string): Promise<PairAnswer>
  /** Follows the operator's events, after the one with `lastId` if it is given. */
  follow(lastId?: string): Promise<EventReader>
}

export interface ClientMessage {
  readonly id: string
  readonly text: string
  readonly context?: string
  /** True if the client does not wait for the answer. Default: false. */
  readonly isDetached?: boolean
}

export interface PairAnswer {
  readonly status: number
  readonly text: string
  readonly retryAfter: string | null
}

export interface Pair {
  readonly gateways: readonly [PairedGateway, PairedGateway]
  readonly directory: string
  close(): Promise<void>
}

interface GatewayPlan {
  /** The folder of its configuration and its data. */
  readonly directory: string
  readonly name: string
  readonly settings: object
  readonly preload?: string | undefined
}

/** Makes a gateway in a process of its own, which has not started. Its store is a file unless its settings name another one. */
export async function makeGateway({ directory, name, settings, preload }: GatewayPlan): Promise<PairedGateway> {
  const port = await findFreePort()
  const configPath = join(directory, `${name}.json`)
  const config = {
    origin: 'https://agents.test',
    listen: { port },
    data: join(directory, name),
    operator_token: operatorToken,
    a2a: { auth: { api_keys: [{ name: 'tester', sha256: hash('sha256', apiKey) }] } },
    limits: { per_host: 100_000, per_identity: 100_000, per_agent: 100_000 },
    log: { level: 'error' },
    ...settings,
  }
  writeFileSync(configPath, JSON.stringify(config))
  return {
    ...createGatewayProcess(configPath, preload === undefined ? {} : { preload }),
    ...connect(`http://127.0.0.1:${port}`),
  }
}

interface PairOptions {
  /** The settings of each gateway. */
  readonly overrides?: readonly [object, object]
  /** The URL of the module that each process loads first. */
  readonly preloads?: readonly (string | undefined)[]
}

/** Makes two gateways on one database, which have not started. Each has ports and a folder of its own. */
export async function makePair(
  store: string,
  agents: Readonly<Record<string, unknown>>,
  { overrides = [{}, {}], preloads = [] }: PairOptions = {},
): Promise<Pair> {
  const directory = mkdtempSync(join(tmpdir(), 'postern-pair-'))
  const open = (name: string, settings: object, preload?: string) =>
    makeGateway({ directory, name, settings: { store, agents, ...settings }, preload })
  const gateways = [await open('one', overrides[0], preloads[0]), await open('two', overrides[1], preloads[1])] as const
  return {
    gateways,
    directory,
    async close() {
      await Promise.all(gateways.map(gateway => gateway.kill()))
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Opens two processes of one gateway on one database. `overrides` holds the settings of each. */
export async function openPair(
  store: string,
  agents: Readonly<Record<string, unknown>>,
  overrides?: readonly [object, object],
): Promise<Pair> {
  const pair = await makePair(store, agents, overrides && { overrides })
  await Promise.all(pair.gateways.map(gateway => gateway.start()))
  return pair
}

function connect(url: string): Pick<PairedGateway, 'url' | 'send' | 'call' | 'ask' | 'probe' | 'follow'> {
  const call: PairedGateway['call'] = async (method, params) => {
    const response = await fetch(`${url}/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': apiKey },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    return readAnswer(response)
  }
  return {
    url,
    call,
    send({ id, text, context, isDetached = false }) {
      const message = { messageId: id, role: 'ROLE_USER', parts: [{ text }], ...(context && { contextId: context }) }
      return call('SendMessage', { message, configuration: { returnImmediately: isDetached } })
    },
    probe: async path => readAnswer(await fetch(`${url}${path}`, { signal: AbortSignal.timeout(10_000) })),
    follow: lastId => openEvents(url, { token: operatorToken, ...(lastId !== undefined && { lastId }) }),
    async ask(path) {
      const response = await fetch(`${url}/operator/api${path}`, {
        headers: { authorization: `Bearer ${operatorToken}` },
      })
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      return response.json()
    },
  }
}

async function readAnswer(answer: Response): Promise<PairAnswer> {
  return { status: answer.status, text: await answer.text(), retryAfter: answer.headers.get('retry-after') }
}
