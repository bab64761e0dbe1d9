import { mkdtempDisposableSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseConfig } from 'postern/config'
import type { Gateway } from 'postern/gateway'
import { openGateway } from 'postern/gateway'
import { createLog } from 'postern/log'
import type { Contender } from '../harness/rounds.ts'

const agents = ['silent', 'brief', 'pieces', 'herald', 'patient', 'scribe']
/** Counted as in production, but never reached: a load generator is one single, very busy peer. */
const unreachable = 1_000_000_000
export const unreachableLimits = {
  per_address: unreachable,
  per_host: unreachable,
  per_identity: unreachable,
  per_unverified: unreachable,
  per_agent: unreachable,
}

/** The gateway as `postern start` opens it, with its log at the production level, on the embedded store, with data in `directory`. */
export function openMeasuredGateway(directory: string, tree?: GatewaySetup['tree']): Promise<Gateway> {
  const config = parseConfig({
    origin: `https://${gatewayHost}`,
    listen: { port: 0 },
    data: directory,
    agents: Object.fromEntries(agents.map(name => [name, { use: findAgentModule(name) }])),
    default_agent: 'silent',
    limits: unreachableLimits,
    ...tree,
  })
  const log = createLog({ level: config.log.level, readable: false })
  return openGateway(config, { baseDir: directory, log, operatorToken: 'bench-operator-token' })
}

/** The same on data of its own, which go when it ends, or on those in a directory, which stay. */
export async function openBenchGateway(tree: GatewaySetup['tree'], data?: string) {
  const own = () => mkdtempDisposableSync(join(tmpdir(), 'postern-bench-'))
  const { path: directory, remove } = data === undefined ? own() : { path: data, remove() {} }
  const gateway = await openMeasuredGateway(directory, tree)
  const close = () => gateway.stop().then(remove)
  return { gateway, close }
}

export function findAgentModule(name: string): string {
  return fileURLToPath(new URL(`./agents/${name}.ts`, import.meta.url))
}

/** Host of every agent in the bench. */
export const gatewayHost = 'agents.test'

/** The setup of our own gateway: `tree` is laid over the configuration that `ours/open.ts` starts from. */
export interface GatewaySetup {
  readonly tree: Readonly<Record<string, unknown>>
  /** A directory with data of earlier; default: a fresh one. */
  readonly data?: string | undefined
  /**
   * What has gone the whole way: turns of an agent (default), deliveries of what it said, or messages that are stored, each with its turn
   * queued, which nobody takes up.
   */
  readonly counts?: 'turns' | 'deliveries' | 'messages' | undefined
}

const entry = new URL('./gateway.ts', import.meta.url)

/** As the first line of the program's launcher has them. */
export const startFlags = ['--max-semi-space-size=8', '--min-semi-space-size=4']

export function isOurs(contender: Contender): boolean {
  return contender.entry.href === entry.href
}

/** The real gateway, with what a case adds to its configuration. */
export function describeBenchGateway(
  tree: GatewaySetup['tree'],
  more: Omit<GatewaySetup, 'tree'> = {},
): Pick<Contender, 'entry' | 'setup' | 'nodeFlags'> {
  const setup: GatewaySetup = { ...more, tree }
  return { entry, setup, nodeFlags: startFlags }
}
