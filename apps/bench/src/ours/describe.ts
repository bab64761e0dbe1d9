import type { Contender } from '../harness/case.ts'

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
const startFlags = ['--max-semi-space-size=8']

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
