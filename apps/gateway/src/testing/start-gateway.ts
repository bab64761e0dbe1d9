import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseJsonText } from '@postern/core'
import type { SendRequest, SendResult } from '@postern/simulation'
import { readConfigFile } from '../config/read-config.ts'
import type { Settings } from '../config/settings.ts'
import { createLog } from '../observe/log.ts'
import type { SimulatedGateway } from '../running/run.ts'
import { openDev } from '../running/run.ts'

export interface StartGatewayOptions {
  /**
   * Folder of the configuration file, and of the paths in it. Default: the working directory.
   *
   * @example
   * await startGateway({ folder: import.meta.dirname })
   */
  readonly folder?: string
  /**
   * The configuration itself, instead of the file. Paths in it start at `folder`.
   *
   * @example
   * await startGateway({ settings: { agents: { desk: { use: './agents/desk.ts' } } } })
   */
  readonly settings?: Settings
  /**
   * What is logged. Default: `error`.
   *
   * @example
   * await startGateway({ log: 'debug' })
   */
  readonly log?: 'debug' | 'info' | 'warn' | 'error' | 'silent'
}

/** A message from a peer of the simulated network: a person of a fediverse server, another agent, a mailbox. */
export type PeerMessage = Omit<SendRequest, 'fault'>
export type PeerReply = SendResult

export interface StartedGateway {
  /** Where it listens, such as `http://127.0.0.1:40001`. */
  readonly url: string
  /** Bearer token of the operator's API, which also opens the chat. */
  readonly token: string
  /**
   * Sends a message that is really signed, and waits for the answer.
   *
   * @example
   * const { reply } = await gateway.send({ via: 'email', to: 'desk', text: 'hello' })
   * expect(reply?.text).toContain('hello')
   */
  send(request: PeerMessage): Promise<PeerReply>
  /**
   * Says something in the chat, and waits for the end of the run.
   *
   * @example
   * const { text, thread } = await gateway.chat({ to: 'desk', text: 'hello' })
   * const next = await gateway.chat({ to: 'desk', text: 'and now?', thread })
   */
  chat(request: ChatRequest): Promise<ChatResult>
  /**
   * Ends the gateway and deletes what it has stored.
   *
   * @example
   * afterAll(() => gateway.stop())
   */
  stop(): Promise<void>
}

/**
 * Starts a gateway with the agents of a project and a simulated network, on free ports, with a data folder of its own.
 * @throws ConfigError, AggregateError of them, when the configuration or an agent has a fault
 *
 * @example
 * import { startGateway } from 'postern/testing'
 * import { afterAll, beforeAll, expect, test } from 'vitest'
 *
 * let gateway: Awaited<ReturnType<typeof startGateway>>
 * beforeAll(async () => {
 *   gateway = await startGateway()
 * })
 * afterAll(() => gateway.stop())
 *
 * test('the desk answers mail', async () => {
 *   const { reply } = await gateway.send({ via: 'email', to: 'desk', text: 'hello' })
 *   expect(reply?.text).toContain('hello')
 * })
 */
export async function startGateway({
  folder = process.cwd(),
  settings,
  log = 'error',
}: StartGatewayOptions = {}): Promise<StartedGateway> {
  const data = mkdtempSync(join(tmpdir(), 'postern-test-'))
  const remove = () => rmSync(data, { recursive: true, force: true })
  try {
    const environment = { ...process.env, ...freePorts, POSTERN_DATA: data }
    const file = await readConfigFile({ environment, workingDir: resolve(folder), settings })
    return describeGateway(await openDev(file, { log: createLog({ level: log, readable: true }) }), remove)
  } catch (error) {
    remove()
    throw error
  }
}

/** Tests run side by side, and beside a gateway of the developer's. */
const freePorts = { POSTERN_LISTEN_PORT: '0', POSTERN_EMAIL_LISTEN_PORT: '0' }

function describeGateway(
  { gateway, listening, simulation, stop }: SimulatedGateway,
  remove: () => void,
): StartedGateway {
  const url = listening[0]?.description ?? ''
  const token = gateway.operatorToken
  const runs = gateway.channels.flatMap(({ entrance }) => entrance?.path ?? [])[0] ?? ''
  return {
    url,
    token,
    send: request => simulation.send(request),
    chat({ to, ...request }) {
      const path = to === undefined ? runs : runs.replace('/agent/', `/agents/${encodeURIComponent(to)}/`)
      return readChatRun(request, { url: `${url}${path}`, token })
    },
    async stop() {
      await stop()
      remove()
    },
  }
}

interface ChatDeps {
  /** Where runs are started, such as `http://127.0.0.1:8787/api/v1/agent/runs`. */
  readonly url: string
  readonly token: string
}

/** One run of the chat, as a browser starts it. */
export interface ChatRequest {
  readonly text: string
  /** Name of the agent; default: the default agent. */
  readonly to?: string | undefined
  /** Conversation; default: a new one. */
  readonly thread?: string | undefined
}

export interface ChatResult {
  readonly thread: string
  /** What the agent said. */
  readonly text: string
  /** Every event of the run, in order. */
  readonly events: readonly ChatEvent[]
}

/** An AG-UI event. */
export interface ChatEvent {
  readonly type: string
  readonly [member: string]: unknown
}

/** Starts a run and reads it to its end. @throws Error when the gateway refuses it */
async function readChatRun(
  { text, thread = crypto.randomUUID() }: Omit<ChatRequest, 'to'>,
  { url, token }: ChatDeps,
): Promise<ChatResult> {
  const body = {
    threadId: thread,
    runId: crypto.randomUUID(),
    messages: [{ id: crypto.randomUUID(), role: 'user', content: text }],
  }
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const stream = await answer.text()
  if (!answer.ok) throw new Error(`Cannot chat: the gateway answered ${answer.status} ${stream}`)
  const events = readEvents(stream)
  const said = events.flatMap(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? [String(delta)] : []))
  return { thread, text: said.join(''), events }
}

function readEvents(stream: string): readonly ChatEvent[] {
  return [...stream.matchAll(/^data: ?(.*)$/gm)].map(([, json = '']) => parseJsonText(json) as ChatEvent)
}
