// Runs a gateway that tests kill and restart, with a simulation around it.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { findFreePort } from '@postern/testing/free-port'
import { describeTestConfig, gatewayOrigin, testIntakeSecret } from './gateway.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { createGatewayProcess } from './gateway-process.ts'

/** A gateway in its own process that tests kill and restart at the same ports, and the simulation around it. */
export interface KilledGateway {
  readonly simulation: Simulation
  readonly gateway: GatewayProcess
  readonly url: string
  readonly directory: string
  close(): Promise<void>
}

interface KilledGatewayPlan {
  /** Settings of the configuration. The ports and the log cannot be changed. */
  readonly overrides?: Readonly<Record<string, unknown>>
  /** The folder of data and configuration. Absent for a new one. */
  readonly directory?: string
  /** The URL of a module that the process loads first; absent for none. */
  readonly preload?: string
}

export async function openKilledGateway({
  overrides,
  directory = mkdtempSync(join(tmpdir(), 'postern-killed-')),
  preload,
}: KilledGatewayPlan = {}): Promise<KilledGateway> {
  const simulation = await openSimulation()
  const [port, smtpPort] = [await findFreePort(), await findFreePort()]
  const email = { listen: { port: smtpPort, protocol: 'smtp' } }
  const config = describeTestConfig(simulation, directory, {
    ...overrides,
    listen: { port },
    email,
    log: { level: 'error' },
  })
  const configPath = join(directory, 'postern.config.json')
  writeFileSync(configPath, JSON.stringify(config))
  const gateway = createGatewayProcess(configPath, preload === undefined ? {} : { preload })
  await gateway.start()
  simulation.connectGateway({ origin: gatewayOrigin, port, smtpPort, intakeSecret: testIntakeSecret })
  return {
    simulation,
    gateway,
    url: `http://127.0.0.1:${port}`,
    directory,
    async close() {
      await gateway.kill()
      await simulation.close()
    },
  }
}
