import { hash } from 'node:crypto'
import { resolve } from 'node:path'
import type { Listening, Log } from '@postern/core'
import type { Simulation } from '@postern/simulation'
import { listSlices } from '../config/channel-slices.ts'
import { findUnsafeSettings } from '../config/production.ts'
import type { ConfigFile } from '../config/read-config.ts'
import { parseConfigFile } from '../config/read-config.ts'
import type { Config } from '../config/schema.ts'
import type { MadeUpSecret } from '../dev/dev-configs.ts'
import { createDevConfigs, devDefaults, fillAll } from '../dev/dev-configs.ts'
import { reloadOnChange } from '../dev/reload.ts'
import { connectSimulation, createSimulationRoutes, publishKeys } from '../dev/simulation.ts'
import type { Gateway } from '../gateway.ts'
import { openGateway } from '../gateway.ts'
import { createLog } from '../observe/log.ts'
import { keepOperatorToken, removeRunFile, writeRunFile } from '../platform/run-file.ts'
import { listSettings } from './config-print.ts'
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
  /** What the file says, with what dev mode adds. */
  readonly given: Config
  /** What another file means in this network. @throws AggregateError of ConfigErrors */
  parse(file: ConfigFile): Config
  /** Goes on with another configuration; the network knows it then. @throws ConfigError, AggregateError of them */
  reload(config: Config): Promise<void>
}

/** `postern dev`: a simulated gateway that ends with the process, and goes by its files as they change. `readFile` reads them again. */
export async function runDev(file: ConfigFile, readFile = async () => file): Promise<SimulatedGateway> {
  const opened = await openDev(file, { isReloadable: true })
  const { gateway, given, parse, reload } = opened
  const readConfig = async () => parse(await readFile())
  const endReload = reloadOnChange({ gateway, folder: file.baseDir, given, readConfig, reload })
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
  /** Whether its configuration may change while it runs. */
  readonly isReloadable?: boolean
}

/** Unsafe switches allowed, and a simulated network for whatever the file leaves open. @throws ConfigError, AggregateError of them */
export async function openDev(file: ConfigFile, options: OpenOptions = {}): Promise<SimulatedGateway> {
  const { openSimulation } = await import('@postern/simulation')
  const simulation = await openSimulation()
  const { given, configs, running } = await openSimulated(file, { ...options, simulation }).catch(async error => {
    await simulation.close()
    throw error
  })
  const { gateway } = running
  connectSimulation(simulation, given, running.listening)
  let publishing = publishKeys(simulation, gateway)
  return {
    ...running,
    madeUp: configs.madeUp(),
    simulation,
    given,
    parse: configs.parse,
    async reload(config) {
      const open = await gateway.reload(admitOperator(config, hash('sha256', gateway.operatorToken)))
      connectSimulation(simulation, config, open)
      publishing = publishKeys(simulation, gateway)
      await publishing
    },
    async stop() {
      // It reads the store, which closes.
      await publishing.catch(() => undefined)
      await running.stop()
    },
  }
}

async function openSimulated(file: ConfigFile, options: RunningOptions & { readonly simulation: Simulation }) {
  const configs = createDevConfigs(options.simulation)
  const given = configs.parse(file)
  let { tree } = file
  const parse = (other: ConfigFile) => {
    ;({ tree } = other)
    return configs.parse(other)
  }
  const running = await openRunning(given, file, { ...options, readTree: () => tree })
  return { given, configs: { ...configs, parse }, running }
}

/** `postern start`: exactly what the file says; refuses what is unsafe outside of dev mode. @throws AggregateError */
export async function runProduction(file: ConfigFile): Promise<Running> {
  const tree = file.tree.dev === true ? fillAll(file.tree, devDefaults) : file.tree
  const running = await openRunning(parseConfigFile({ ...file, tree }, findUnsafeSettings), file, {
    readTree: () => file.tree,
  })
  ownProcess(running)
  return running
}

interface RunningOptions extends OpenOptions {
  /** What the file and the variables say, before defaults. */
  readTree?(): object
  readonly simulation?: Simulation
}

async function openRunning(
  given: Config,
  { baseDir, path: configPath }: Pick<ConfigFile, 'baseDir' | 'path'>,
  { simulation, log: givenLog, isReloadable, readTree = () => given }: RunningOptions = {},
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
  const gateway = await openGateway(config, {
    ...{ baseDir, configPath, log, operatorToken, onUnusable, extraOperations, isReloadable },
    listSettings: config => listSettings({ config, given: readTree(), environment: process.env }),
  })
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
  // A promise that an agent's module forgot must not take every other conversation down with it.
  process.on('unhandledRejection', error => log.error({ err: error }, 'a promise was rejected that nobody waited for'))
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
