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
  /** What a client sends, and what it is answered. */
  send(message: ClientMessage): Promise<PairAnswer>
  ask<Told>(path: string): Promise<Told>
  /** What somebody sees there, within ten seconds. */
  look(path: string): Promise<PairAnswer>
  /** The operator's events, behind one that was seen where one is named. */
  follow(lastId?: string): Promise<EventReader>
}

export interface ClientMessage {
  readonly id: string
  readonly text: string
  readonly context?: string
  /** Does not wait for the answer. */
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

/** Two gateways of one gateway, each a process with ports and a folder of its own, at one database. `own`: settings of each. */
export async function openPair(
  store: string,
  agents: Readonly<Record<string, unknown>>,
  own: readonly [object, object] = [{}, {}],
): Promise<Pair> {
  const directory = mkdtempSync(join(tmpdir(), 'postern-pair-'))
  const open = async (name: string, settings: object): Promise<PairedGateway> => {
    const port = await findFreePort()
    const configPath = join(directory, `${name}.json`)
    const config = {
      origin: 'https://agents.test',
      listen: { port },
      data: join(directory, name),
      store,
      operator_token: operatorToken,
      agents,
      a2a: { auth: { api_keys: [{ name: 'tester', sha256: hash('sha256', apiKey) }] } },
      limits: { per_host: 100_000, per_identity: 100_000, per_agent: 100_000 },
      log: { level: 'error' },
      ...settings,
    }
    writeFileSync(configPath, JSON.stringify(config))
    return { ...createGatewayProcess(configPath), ...connect(`http://127.0.0.1:${port}`) }
  }
  const gateways = [await open('one', own[0]), await open('two', own[1])] as const
  await Promise.all(gateways.map(gateway => gateway.start()))
  return {
    gateways,
    directory,
    async close() {
      await Promise.all(gateways.map(gateway => gateway.kill()))
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function connect(url: string): Pick<PairedGateway, 'send' | 'ask' | 'look' | 'follow'> {
  return {
    async send({ id, text, context, isDetached = false }) {
      const message = { messageId: id, role: 'ROLE_USER', parts: [{ text }], ...(context && { contextId: context }) }
      const answer = await fetch(`${url}/a2a`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': apiKey },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'SendMessage',
          params: { message, configuration: { returnImmediately: isDetached } },
        }),
      })
      return readAnswer(answer)
    },
    look: async path => readAnswer(await fetch(`${url}${path}`, { signal: AbortSignal.timeout(10_000) })),
    follow: lastId => openEvents(url, { token: operatorToken, ...(lastId !== undefined && { lastId }) }),
    async ask(path) {
      const answer = await fetch(`${url}/operator/api${path}`, {
        headers: { authorization: `Bearer ${operatorToken}` },
      })
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
      return answer.json()
    },
  }
}

async function readAnswer(answer: Response): Promise<PairAnswer> {
  return { status: answer.status, text: await answer.text(), retryAfter: answer.headers.get('retry-after') }
}
