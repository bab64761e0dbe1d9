// Starts a gateway for tests of agents, in a simulated network.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withPreloadedModules, withReloadedModules } from '@postern/agents'
import { lazy } from '@postern/message'
import { describeError } from '@postern/operator'
import type { Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { readConfigFile } from '../config/read-config.ts'
import type { Settings } from '../config/settings.ts'
import { decideByReference } from '../dev/decide.ts'
import { createLog } from '../observe/log.ts'
import type { SimulatedGateway } from '../running/run.ts'
import { openDev } from '../running/run.ts'
import type { TestClock } from '../system/test-clock.ts'
import { createTestClock } from '../system/test-clock.ts'
import type { AgentStarts } from '../work/agent-starts.ts'
import { readChatRun } from './chat.ts'
import { locateModules } from './preloaded-modules.ts'
import { readAnswerOf, readRecord } from './records.ts'
import type { StartedGateway } from './started-gateway.ts'

export interface StartGatewayOptions {
  /**
   * The folder of the configuration file, from which its paths start. Default: the working directory.
   *
   * @example
   * await startGateway({ folder: import.meta.dirname })
   */
  readonly folder?: string
  /**
   * The configuration itself, in place of the file. Its paths start from `folder`.
   *
   * @example
   * await startGateway({ settings: { agents: { desk: { use: './agents/desk.ts' } } } })
   */
  readonly settings?: Settings
  /**
   * Modules that the test has imported already, in place of those that the gateway would load, so that the test's mocks reach them. The
   * keys are names of agents, or paths of modules (such as tools) as the configuration has them.
   *
   * @example
   * import { defineAgent } from 'postern'
   * import { startGateway } from 'postern/testing'
   *
   * const desk = defineAgent({ handle: () => 'We are closed.' })
   * await startGateway({ modules: { desk } })
   */
  readonly modules?: Readonly<Record<string, object>>
  /**
   * The level of the log. Default: `error`.
   *
   * @example
   * await startGateway({ log: 'debug' })
   */
  readonly log?: 'debug' | 'info' | 'warn' | 'error' | 'silent'
}

/**
 * Starts a gateway with the agents of a project in a simulated network, on free ports and with its own data folder. It loads the agents and
 * their imports anew, so that no gateway sees module state of another one in the process. It waits a second for `start()` of the agents.
 * @throws ConfigError, AggregateError of them, if the configuration or an agent has a fault. @throws Error if `start()` of an agent fails
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
export async function startGateway(options: StartGatewayOptions = {}): Promise<StartedGateway> {
  const data = mkdtempSync(join(tmpdir(), 'postern-test-'))
  const clock = createTestClock()
  const simulation = await openSimulation(clock)
  const run = createRuns({ ...options, data, simulation, clock })
  const endGateway = lazy(async () => {
    await run.stop()
    await simulation.close()
    rmSync(data, { recursive: true, force: true })
  })
  try {
    await run.start()
    return describeGateway(run, endGateway)
  } catch (error) {
    await endGateway()
    throw error
  }
}

/** The variables that request free ports, because tests run in parallel, and next to a developer's own gateway. */
const freePorts = { POSTERN_LISTEN_PORT: '0', POSTERN_EMAIL_LISTEN_PORT: '0' }

/** The successive runs of one gateway, with the same data and network. */
interface Runs {
  readonly clock: TestClock
  /** Returns the current run, or the last one. */
  current(): SimulatedGateway
  /** Starts a run. Later runs get the HTTP port of the first one. @throws ConfigError, AggregateError of them */
  start(): Promise<void>
  stop(): Promise<void>
}

interface RunsOptions extends StartGatewayOptions {
  readonly data: string
  readonly simulation: Simulation
  readonly clock: TestClock
}

function createRuns(options: RunsOptions): Runs {
  const { folder = process.cwd(), settings, modules = {}, log = 'error', data, simulation, clock } = options
  let lastRun: SimulatedGateway | undefined
  let isRunning = false
  const current = () => {
    if (!lastRun) throw new Error('the gateway was not started')
    return lastRun
  }
  return {
    clock,
    current,
    async start() {
      const port = lastRun?.listening[0]?.port
      const ports = { ...freePorts, ...(port !== undefined && { POSTERN_LISTEN_PORT: String(port) }) }
      const environment = { ...process.env, ...ports, POSTERN_DATA: data }
      lastRun = await withReloadedModules(async () => {
        const file = await readConfigFile({ environment, workingDir: resolve(folder), settings })
        const options = { log: createLog({ level: log, readable: true }), simulation, clock }
        return withPreloadedModules(locateModules(modules, file), () => openDev(file, options))
      })
      isRunning = true
      await checkStarts(lastRun.gateway.starts())
    },
    async stop() {
      if (isRunning) await current().stop()
      isRunning = false
    },
  }
}

/** The time that `start()` of the agents gets, ms. Some agents keep running in it as long as the gateway runs. */
const startTimeoutMs = 1_000

/** Waits for the first `start()` of every agent, one second at most. @throws Error, AggregateError of them, if an agent has failed to start */
async function checkStarts({ firstEnded, listFailed }: AgentStarts): Promise<void> {
  const waitEnd = new AbortController()
  await Promise.race([firstEnded, sleep(startTimeoutMs, undefined, waitEnd).catch(() => undefined)])
  waitEnd.abort()
  const [fault, ...furtherFaults] = listFailed().map(
    ({ agent, error }) => new Error(`The agent "${agent}" failed to start: ${describeError(error)}`, { cause: error }),
  )
  if (fault)
    throw furtherFaults.length === 0 ? fault : new AggregateError([fault, ...furtherFaults], 'Agents failed to start')
}

function describeGateway(runs: Runs, end: () => Promise<void>): StartedGateway {
  const { listening, gateway } = runs.current()
  // All runs have the same address.
  const url = listening[0]?.description ?? ''
  const token = gateway.operatorToken
  const runsPath = gateway.channels.flatMap(({ endpoint }) => endpoint.chatPage?.path ?? [])[0] ?? ''
  return {
    url,
    token,
    async send({ text = '', ...request }) {
      const { simulation, gateway } = runs.current()
      const result = await simulation.send({ ...request, text })
      return { ...result, ...(await readAnswerOf(result.id, gateway.store)) }
    },
    async chat({ to, from, ...request }) {
      const { simulation, gateway, config } = runs.current()
      const path = to === undefined ? runsPath : runsPath.replace('/agent/', `/agents/${encodeURIComponent(to)}/`)
      const audience = `${config.origin}/api/v1`
      const accessToken = from === undefined ? token : await simulation.a2a.token({ sub: from, audience })
      const { messageId, ...result } = await readChatRun(request, { url: `${url}${path}`, token: accessToken })
      return { ...result, ...(await readAnswerOf(messageId, gateway.store)) }
    },
    record: message => readRecord(message, runs.current().gateway.store),
    inbox: persona => runs.current().simulation.listInbox(persona),
    follow: (persona, agent) => runs.current().simulation.follow(persona, agent),
    async decide(requirement, outcome, args) {
      const { gateway } = runs.current()
      const number = await decideByReference(requirement, { outcome, args }, gateway)
      const { response } = await readRecord(number, gateway.store)
      return { number, parts: response?.parts ?? [] }
    },
    clock: runs.clock,
    async restart() {
      await runs.stop()
      await runs.start()
    },
    stop: end,
  }
}
