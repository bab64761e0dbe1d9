import { hash, randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import type { Listening, Log } from '@postern/core'
import type { Simulation } from '@postern/simulation'
import { listSlices } from '../config/channel-slices.ts'
import { findUnsafeSettings } from '../config/production.ts'
import type { ConfigFile } from '../config/read-config.ts'
import { parseConfig, parseConfigFile } from '../config/read-config.ts'
import type { Config } from '../config/schema.ts'
import { devDefaults, simulatedDefaults } from '../dev/defaults.ts'
import { fillAll } from '../dev/fill.ts'
import type { MadeUpSecret } from '../dev/made-up-secrets.ts'
import { makeUpSecrets, toFillings } from '../dev/made-up-secrets.ts'
import { reloadOnChange } from '../dev/reload-agents.ts'
import { createSimulationRoutes, publishKeys } from '../dev/simulation.ts'
import type { Gateway } from '../gateway.ts'
import { openGateway } from '../gateway.ts'
import { createLog } from '../observe/log.ts'
import { keepOperatorToken, removeRunFile, writeRunFile } from '../platform/run-file.ts'
import { startMemorySaver } from './memory-saver.ts'

export interface Running {
  readonly gateway: Gateway
  readonly config: Config
  readonly listening: readonly Listening[]
  /** Secrets that dev mode made up for this run. */
  readonly madeUp?: readonly MadeUpSecret[]
  stop(): Promise<void>
}

/** A gateway in a simulated network. */
export interface SimulatedGateway extends Running {
  readonly simulation: Simulation
}

/** `postern dev`: a simulated gateway that ends with the process. */
export async function runDev(file: ConfigFile): Promise<SimulatedGateway> {
  const opened = await openDev(file)
  const endReload = reloadOnChange(opened.gateway, {
    folder: file.baseDir,
    data: resolve(file.baseDir, opened.config.data),
  })
  const stop = () => {
    endReload()
    return opened.stop()
  }
  const running = { ...opened, stop }
  ownProcess(running)
  return running
}

interface OpenOptions {
  /** Default: lines on standard output, at the level of the configuration. */
  readonly log?: Log | undefined
}

/** Unsafe switches allowed, and a simulated network for whatever the file leaves open. @throws ConfigError, AggregateError of them */
export async function openDev(file: ConfigFile, options: OpenOptions = {}): Promise<SimulatedGateway> {
  const madeUp = makeUpSecrets(file.missing)
  const tree = fillAll(file.tree, [...toFillings(madeUp), ...devDefaults])
  const { openSimulation } = await import('@postern/simulation')
  const simulation = await openSimulation()
  const intakeSecret = randomBytes(18).toString('base64url')
  const { dns, loopback } = simulation.network
  const origin = String(tree.origin)
  const { issuerConfig, deadIssuerConfig } = simulation.a2a
  const servers = { submit: simulation.mail.submit, issuers: [issuerConfig, deadIssuerConfig] }
  const simulated = simulatedDefaults({ dns, loopback, origin, ...servers, secret: intakeSecret })
  const config = parseConfig(fillAll(tree, simulated))
  const running = await openRunning(config, file.baseDir, { ...options, simulation }).catch(async error => {
    await simulation.close()
    throw error
  })
  const [http] = running.listening
  const mail = running.listening.find(({ label }) => label === 'mail')
  const secrets = listSlices(config).map(slice => slice.module.simulatedSecret?.(slice.config))
  simulation.connectGateway({
    origin: config.origin,
    handleHost: config.handle_host,
    port: http?.port ?? 0,
    smtpPort: mail?.port,
    intakeSecret: secrets.find(secret => secret !== undefined),
  })
  const publishing = publishKeys(simulation, running.gateway)
  return {
    ...running,
    madeUp,
    simulation,
    async stop() {
      // It reads the store, which closes.
      await publishing.catch(() => undefined)
      await running.stop()
    },
  }
}

/** `postern start`: exactly what the file says; refuses what is unsafe outside of dev mode. @throws AggregateError */
export async function runProduction(file: ConfigFile): Promise<Running> {
  const tree = file.tree.dev === true ? fillAll(file.tree, devDefaults) : file.tree
  const running = await openRunning(parseConfigFile({ ...file, tree }, findUnsafeSettings), file.baseDir)
  ownProcess(running)
  return running
}

interface RunningOptions extends OpenOptions {
  readonly simulation?: Simulation
}

async function openRunning(
  given: Config,
  baseDir: string,
  { simulation, log: givenLog }: RunningOptions = {},
): Promise<Running> {
  const operatorToken = findOperatorToken(given, baseDir)
  const config = given.dev ? admitOperator(given, hash('sha256', operatorToken)) : given
  const directory = resolve(baseDir, config.data)
  const log = givenLog ?? createLog({ level: config.log.level, readable: config.dev && process.stdout.isTTY === true })
  const extraOperations = simulation ? createSimulationRoutes(simulation) : []
  const onUnusable = (error: Error) => {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
    process.kill(process.pid, 'SIGTERM')
  }
  const gateway = await openGateway(config, { baseDir, log, operatorToken, onUnusable, extraOperations })
  const isSimulating = simulation !== undefined
  const listening = await openEndpoints(gateway, directory, isSimulating).catch(async error => {
    // What is open would keep the process alive without an endpoint.
    await gateway.stop()
    throw error
  })
  const memorySaver = startMemorySaver()
  const stop = async () => {
    memorySaver.stop()
    removeRunFile(directory)
    await gateway.stop()
    await simulation?.close()
  }
  return { gateway, config, listening, stop }
}

async function openEndpoints(
  gateway: Gateway,
  directory: string,
  isSimulating: boolean,
): Promise<readonly Listening[]> {
  const listening = await gateway.start()
  writeRunFile(directory, { url: listening[0]?.description ?? '', pid: process.pid, isSimulating })
  return listening
}

/** In dev mode the operator's token opens what channels open to it. */
function admitOperator(config: Config, digest: string): Config {
  const members = listSlices(config).map(({ module, config: own }) => [
    module.descriptor.name,
    module.admitOperator?.(own, digest) ?? own,
  ])
  return { ...config, ...Object.fromEntries(members) }
}

/** The configured token; in dev mode one that is made once and kept beside the data. */
export function findOperatorToken(config: Pick<Config, 'operator_token' | 'data'>, baseDir: string): string {
  return config.operator_token ?? keepOperatorToken(resolve(baseDir, config.data))
}

/** The process runs for this gateway alone, and ends with it. */
function ownProcess({ gateway, stop }: Running): void {
  const { log } = gateway.platform
  stopOnSignals(stop, log)
  surviveStrays(log)
}

function stopOnSignals(stop: () => Promise<void>, log: Log): void {
  let isStopping = false
  const onSignal = async (signal: string) => {
    if (isStopping) return
    isStopping = true
    log.info({ signal }, 'stopping')
    const overdue = setTimeout(() => process.exit(1), 10_000)
    await stop().catch(error => log.error({ err: error }, 'stopping failed'))
    clearTimeout(overdue)
    process.exit(process.exitCode ?? 0)
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => void onSignal(signal))
}

/** A promise that an agent's module forgot must not take every other conversation down with it. */
function surviveStrays(log: Log): void {
  process.on('unhandledRejection', error => log.error({ err: error }, 'a promise was rejected that nobody waited for'))
}
