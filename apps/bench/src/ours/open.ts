// Opens a gateway for the bench with production logging and unreachable limits.
import { mkdtempDisposableSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseConfig } from 'postern/config'
import type { Gateway } from 'postern/gateway'
import { openGateway } from 'postern/gateway'
import { nodeFlags } from 'postern/launch'
import { createLog } from 'postern/log'
import type { Contender } from '../harness/rounds.ts'

const agents = ['silent', 'brief', 'slow', 'pieces', 'herald', 'patient', 'scribe']
/** The limits are counted as in production, but never reached, because a load generator is one single, very busy peer. */
const unreachable = 1_000_000_000
const unreachableBytes = 2 ** 50
export const unreachableLimits = {
  per_address: unreachable,
  per_host: unreachable,
  per_identity: unreachable,
  per_unverified: unreachable,
  per_agent: unreachable,
  stored: { per_unverified: unreachableBytes, per_identity: unreachableBytes, unverified: unreachableBytes },
}

/** Opens the gateway as `postern start` does, with its log at the production level, on the embedded store, with data in `directory`. */
export function openMeasuredGateway(directory: string, changes?: GatewaySetup['tree']): Promise<Gateway> {
  const config = parseConfig({
    origin: `https://${gatewayHost}`,
    listen: { port: 0 },
    data: directory,
    agents: Object.fromEntries(agents.map(name => [name, { use: findAgentModule(name) }])),
    default_agent: 'silent',
    limits: unreachableLimits,
    ...changes,
  })
  const log = createLog({ level: config.log.level, readable: false })
  return openGateway(config, { baseDir: directory, log, operatorToken: 'bench-operator-token' })
}

/** Opens the same gateway on data of its own, which it removes at the end, or on those in a directory, which stay. */
export async function openBenchGateway(changes: GatewaySetup['tree'], data?: string) {
  const createDirectory = () => mkdtempDisposableSync(join(tmpdir(), 'postern-bench-'))
  const { path: directory, remove } = data === undefined ? createDirectory() : { path: data, remove() {} }
  const gateway = await openMeasuredGateway(directory, changes)
  const close = () => gateway.stop().then(remove)
  return { gateway, close }
}

export function findAgentModule(name: string): string {
  return fileURLToPath(new URL(`./agents/${name}.ts`, import.meta.url))
}

/** The host of every agent in the bench. */
export const gatewayHost = 'agents.test'

/** The setup of the measured gateway. */
export interface GatewaySetup {
  /** The changes of the default configuration. Earlier revisions of the bench, which this one can start, read them by this name. */
  readonly tree: Readonly<Record<string, unknown>>
  /** A directory with earlier data. Absent for a new one. */
  readonly data?: string | undefined
  /**
   * The events that count as handled: turns of an agent (default), deliveries of its answers, or stored messages, whose queued turns nobody leases.
   */
  readonly counts?: 'turns' | 'deliveries' | 'messages' | undefined
}

const entry = new URL('./gateway.ts', import.meta.url)

export function isOurs(contender: Contender): boolean {
  return contender.entry.href === entry.href
}

/** Describes the real gateway as a contender, with the case's additions to its configuration. */
export function describeBenchGateway(
  changes: GatewaySetup['tree'],
  extraSetup: Omit<GatewaySetup, 'tree'> = {},
): Pick<Contender, 'entry' | 'setup' | 'nodeFlags'> {
  const setup: GatewaySetup = { ...extraSetup, tree: changes }
  return { entry, setup, nodeFlags }
}
