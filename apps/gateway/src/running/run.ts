// Runs a gateway for `postern dev` and `postern start`.
import { hash } from 'node:crypto'
import { resolve } from 'node:path'
import type { Log } from '@postern/message'
import type { ListeningSocket } from '@postern/pipeline'
import type { Simulation } from '@postern/simulation'
import { listSlices } from '../config/channel-slices.ts'
import { findUnsafeSettings } from '../config/production.ts'
import type { ConfigFile } from '../config/read-config.ts'
import { parseConfigFile } from '../config/read-config.ts'
import type { Config } from '../config/schema.ts'
import { createDevConfigs, devDefaults, fillConfig } from '../dev/dev-configs.ts'
import type { GeneratedSecret } from '../dev/generated-secrets.ts'
import { connectSimulation, createSimulationRoutes, publishKeys } from '../dev/simulation.ts'
import type { Gateway } from '../gateway.ts'
import { openGateway } from '../gateway.ts'
import type { SecretMask } from '../masking/secret-mask.ts'
import { createSecretMask } from '../masking/secret-mask.ts'
import { listSecretTexts } from '../masking/secret-settings.ts'
import { createLog } from '../observe/log.ts'
import { ensureOperatorToken, removeRunFile, writeRunFile } from '../system/run/run-file.ts'
import type { GatewayClock } from '../system/test-clock.ts'
import { listSettings } from './config-print.ts'
import { handleSignals } from './signals.ts'

export interface RunningGateway {
  readonly gateway: Gateway
  readonly config: Config
  readonly listening: readonly ListeningSocket[]
  /** The secrets that dev mode generated for this run. */
  readonly generatedSecrets?: readonly GeneratedSecret[]
  stop(): Promise<void>
}

/** A gateway connected to a simulated network. */
export interface SimulatedGateway extends RunningGateway {
  readonly simulation: Simulation
  /** The configuration of the file, with dev mode's values. */
  readonly initialConfig: Config
  /** Parses another file for the same network. @throws AggregateError of ConfigErrors */
  parse(file: ConfigFile): Config
  /** Applies another configuration to the gateway and the network. @throws ConfigError, AggregateError of them */
  reload(config: Config): Promise<void>
}

/** Runs `postern dev`: a gateway in a simulated network that applies changes to its files. `readFile` reads the files again. */
export async function runDev(
  file: ConfigFile,
  { readFile = async () => file, adopts }: RunOptions & { readFile?(): Promise<ConfigFile> } = {},
): Promise<SimulatedGateway> {
  const openedGateway = await openDev(file, { isReloadable: true, adopts })
  const { gateway, initialConfig, parse, reload } = openedGateway
  const readConfig = async () => parse(await readFile())
  const { reloadOnChange } = await import('../dev/reload.ts')
  const endReload = reloadOnChange({ gateway, folder: file.baseDir, initialConfig, readConfig, reload })
  const stop = () => {
    endReload()
    return openedGateway.stop()
  }
  const running = { ...openedGateway, stop }
  handleProcessEvents(running)
  return running
}

type RunOptions = Pick<OpenOptions, 'adopts'>

interface OpenOptions {
  /** The log. Default: lines on standard output, at the configured level. */
  readonly log?: Log | undefined
  /** True if the configuration may change while the gateway runs. */
  readonly isReloadable?: boolean
  /** True if the gateway may adopt data of another mode or origin. */
  readonly adopts?: boolean | undefined
  /** A network that stays open when the gateway stops. Default: a new one that closes with the gateway. */
  readonly simulation?: Simulation | undefined
  /** The clock. Default: the machine's. */
  readonly clock?: GatewayClock | undefined
}

/** Opens a gateway that allows unsafe settings, in a simulated network. @throws ConfigError, AggregateError of them */
export async function openDev(file: ConfigFile, options: OpenOptions = {}): Promise<SimulatedGateway> {
  const { openSimulation } = await import('@postern/simulation')
  const simulation = options.simulation ?? (await openSimulation())
  const closeOwnSimulation = async () => {
    if (!options.simulation) await simulation.close()
  }
  const { initialConfig, configs, running } = await openSimulatedGateway(file, { ...options, simulation }).catch(
    async error => {
      await closeOwnSimulation()
      throw error
    },
  )
  const { gateway } = running
  connectSimulation(simulation, initialConfig, running.listening)
  let pendingPublication = publishKeys(simulation, gateway)
  return {
    ...running,
    generatedSecrets: configs.listGeneratedSecrets(),
    simulation,
    initialConfig,
    parse: configs.parse,
    async reload(config) {
      const listening = await gateway.reload(
        admitDevCallers(config, { operatorToken: gateway.operatorToken, simulation }),
      )
      connectSimulation(simulation, config, listening)
      pendingPublication = publishKeys(simulation, gateway)
      await pendingPublication
    },
    async stop() {
      // Publishing reads the store, so it ends before the store closes.
      await pendingPublication.catch(() => undefined)
      await running.stop()
      await closeOwnSimulation()
    },
  }
}

async function openSimulatedGateway(file: ConfigFile, options: RunningOptions & { readonly simulation: Simulation }) {
  const configs = createDevConfigs(options.simulation)
  const initialConfig = configs.parse(file)
  const mask = createSecretMask(listSecretTexts(file))
  let newestFile = file
  const parse = (changedFile: ConfigFile) => {
    newestFile = changedFile
    mask.addSecrets(listSecretTexts(changedFile))
    return configs.parse(changedFile)
  }
  const running = await openRunningGateway(initialConfig, file, { ...options, mask, readFileConfig: () => newestFile })
  return { initialConfig, configs: { ...configs, parse }, running }
}

/** Runs `postern start`: a gateway with exactly the configuration of the file. @throws AggregateError if settings are unsafe outside of dev mode */
export async function runProduction(file: ConfigFile, { adopts }: RunOptions = {}): Promise<RunningGateway> {
  const tree = file.tree.dev === true ? fillConfig(file.tree, devDefaults) : file.tree
  const running = await openRunningGateway(parseConfigFile({ ...file, tree }, findUnsafeSettings), file, { adopts })
  handleProcessEvents(running)
  return running
}

interface RunningOptions extends OpenOptions {
  /** Returns the values of the file and the variables, before defaults. */
  readFileConfig?(): Pick<ConfigFile, 'tree' | 'references'>
  readonly mask?: SecretMask
}

async function openRunningGateway(
  initialConfig: Config,
  file: ConfigFile,
  {
    simulation,
    log: requestedLog,
    isReloadable,
    adopts,
    clock,
    readFileConfig: readGiven = () => file,
    ...masking
  }: RunningOptions = {},
): Promise<RunningGateway> {
  const { baseDir, path: configPath } = file
  const { mask = createSecretMask(listSecretTexts(file)) } = masking
  const operatorToken = readOperatorToken(initialConfig, baseDir)
  const config = initialConfig.dev ? admitDevCallers(initialConfig, { operatorToken, simulation }) : initialConfig
  const directory = resolve(baseDir, config.data)
  const log =
    requestedLog ?? createLog({ level: config.log.level, readable: config.dev && process.stdout.isTTY === true })
  const findGateway = () => ({ agents: gateway.agents, store: gateway.store.forOperators, decidingGateway: gateway })
  const extraOperations = simulation ? createSimulationRoutes({ simulation, findGateway }) : []
  const onUnusable = (error: Error) => {
    process.stderr.write(`${mask.hideIn(error.message)}\n`)
    process.exitCode = 1
    process.kill(process.pid, 'SIGTERM')
  }
  const isSimulating = simulation !== undefined
  const gateway: Gateway = await openGateway(config, {
    baseDir,
    configPath,
    log,
    operatorToken,
    onUnusable,
    extraOperations,
    isReloadable,
    isSimulating,
    adopts,
    clock,
    mask,
    listSettings: (config, agent) => {
      const { tree: givenTree, references } = readGiven()
      return listSettings({ config, fileConfig: givenTree, references, environment: process.env, agent })
    },
  })
  const listening = await openEndpoints(gateway, directory, isSimulating).catch(async error => {
    // Open resources would keep a process without endpoints alive.
    await gateway.stop()
    throw error
  })
  const stop = async () => {
    removeRunFile(directory)
    await gateway.stop()
  }
  return { gateway, config, listening, stop }
}

async function openEndpoints(
  gateway: Gateway,
  directory: string,
  isSimulating: boolean,
): Promise<readonly ListeningSocket[]> {
  const listening = await gateway.start()
  writeRunFile(directory, { url: listening[0]?.description ?? '', pid: process.pid, isSimulating })
  return listening
}

interface DevCallerOptions {
  readonly operatorToken: string
  readonly simulation: Simulation | undefined
}

/** Allows the operator's and the simulation's tokens to call the channels in dev mode. */
function admitDevCallers(config: Config, { operatorToken, simulation }: DevCallerOptions): Config {
  const callers = {
    origin: config.origin,
    operatorDigest: hash('sha256', operatorToken),
    issuers: simulation ? [simulation.a2a.issuerConfig, simulation.a2a.deadIssuerConfig] : [],
  }
  const members = listSlices(config).map(({ module, config: channelConfig }) => [
    module.descriptor.name,
    module.admitDevCallers?.(channelConfig, callers) ?? channelConfig,
  ])
  return { ...config, ...Object.fromEntries(members) }
}

/** Returns the configured token. In dev mode it otherwise returns a token that is created once and stored with the data. */
export function readOperatorToken(config: Pick<Config, 'operator_token' | 'data'>, baseDir: string): string {
  return config.operator_token ?? ensureOperatorToken(resolve(baseDir, config.data))
}

/** Ends the process with this gateway, which is the only one in it. */
function handleProcessEvents({ gateway, stop }: RunningGateway): void {
  const { log } = gateway.system
  handleSignals(stop, log)
  // An unhandled rejection in an agent's module must not end all other conversations.
  process.on('unhandledRejection', error => log.error({ err: error }, 'a promise was rejected without a handler'))
}
