import { mkdtempSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '@postern/testing'
import { onTestFinished } from 'vitest'
import { parseConfig } from '../../../src/config/read-config.ts'
import type { DoctorDeps, Outside } from '../../../src/doctor/deps.ts'
import { realMachine } from '../../../src/doctor/machine-facts.ts'
import { openOutside } from '../../../src/doctor/outside.ts'
import { createPlatform } from '../../../src/platform/platform.ts'

export const ownHost = 'agents.test'
const origin = `https://${ownHost}`

/** Of a public installation, before a test changes something. */
const settings = {
  origin,
  operator_token: 'Jr5tYq0vWc7bK2mX9sLd4hNf',
  agents: { echo: { name: 'Echo', description: 'It answers.', use: 'builtin:echo' } },
}

interface BenchOptions {
  readonly settings?: Readonly<Record<string, unknown>>
  /** Ports of this machine for `host:port`; all others are closed. */
  readonly ports?: Readonly<Record<string, number>>
  /** Ports of this machine for hosts that are fetched from. */
  readonly loopback?: Readonly<Record<string, number>>
  /** A name server, `127.0.0.1:5353`. */
  readonly dns?: string
  readonly outside?: Partial<Outside>
  readonly deps?: Partial<DoctorDeps>
}

/** What a check of a public installation is given, with everything outside on this machine. */
export function openDoctorBench(options: BenchOptions = {}): DoctorDeps {
  const { ports = {}, loopback = {}, dns } = options
  const network = { loopback, ...(dns !== undefined && { dns: [dns] }) }
  const config = parseConfig({ ...settings, network, ...options.settings })
  const platform = createPlatform(config, { log: silentLog, slices: [] })
  onTestFinished(() => platform.close())
  return {
    config,
    directory: mkdtempSync(join(tmpdir(), 'postern-doctor-')),
    configPath: undefined,
    facts: realMachine,
    outside: {
      ...openOutside(platform, config),
      locate: (name, port) => ({ host: '127.0.0.1', port: ports[`${name}:${port}`] ?? 1 }),
      ...options.outside,
    },
    now: Date.now,
    configFaults: [],
    openFaults: [],
    gateway: undefined,
    isRunning: false,
    ...options.deps,
  }
}

/** A server on a free port until the test ends; its port. */
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
