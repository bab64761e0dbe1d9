// Opens the surroundings of a public installation on this machine.

import { mkdtempSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noLog } from '@postern/message'
import type { DoctorDeps, DoctorNetwork } from '@postern/operator'
import { readMachineFacts } from '@postern/operator'
import { onTestFinished } from 'vitest'
import { minimumNode } from '../../../bin/launch.mjs'
import { describeInstallation } from '../../../src/compose/doctor-deps.ts'
import { openDoctorNetwork } from '../../../src/compose/doctor-network.ts'
import { parseConfig } from '../../../src/config/read-config.ts'
import type { Config } from '../../../src/config/schema.ts'
import { createSystem } from '../../../src/system/system.ts'

export const ownHost = 'agents.test'
const origin = `https://${ownHost}`

/** The settings of a public installation, before a test changes them. */
const settings = {
  origin,
  operator_token: 'Jr5tYq0vWc7bK2mX9sLd4hNf',
  agents: { echo: { name: 'Echo', description: 'It answers.', use: 'builtin:echo' } },
}

interface BenchOptions {
  readonly settings?: Readonly<Record<string, unknown>>
  /** Ports of this machine for each `host:port`; all others are closed. */
  readonly ports?: Readonly<Record<string, number>>
  /** Ports of this machine for hosts that are fetched from. */
  readonly loopback?: Readonly<Record<string, number>>
  /** The address of a name server, such as `127.0.0.1:5353`. */
  readonly dns?: string
  readonly network?: Partial<DoctorNetwork>
  readonly deps?: Partial<Omit<DoctorDeps, 'config'>>
}

/** Opens the dependencies of a check of a public installation, with all outside services on this machine. */
export function openDoctorBench(options: BenchOptions = {}): DoctorDeps & { readonly config: Config } {
  const { ports = {}, loopback = {}, dns } = options
  const networkSettings = { loopback, ...(dns !== undefined && { dns: [dns] }) }
  const config = parseConfig({ ...settings, network: networkSettings, ...options.settings })
  const system = createSystem(config, { log: noLog, slices: [] })
  onTestFinished(() => system.close())
  const network: DoctorNetwork = {
    ...openDoctorNetwork(system, config),
    locate: (name, port) => ({ host: '127.0.0.1', port: ports[`${name}:${port}`] ?? 1 }),
    ...options.network,
  }
  return {
    ...describeInstallation(config, { network, now: options.deps?.now ?? Date.now }),
    config,
    directory: mkdtempSync(join(tmpdir(), 'postern-doctor-')),
    configPath: undefined,
    facts: readMachineFacts(minimumNode),
    network,
    now: Date.now,
    configFaults: [],
    openFaults: [],
    gateway: undefined,
    isRunning: false,
    ...options.deps,
  }
}

/** Runs a server on a free port until the test ends, and returns the port. */
export async function serve(server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>(resolve => void server.close(() => resolve())))
  return (server.address() as AddressInfo).port
}

export async function serveHttp(answer: RequestListener): Promise<number> {
  const server = createServer(answer)
  const port = await serve(server)
  onTestFinished(() => server.closeAllConnections())
  return port
}
