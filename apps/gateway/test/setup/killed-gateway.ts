import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { findFreePort } from '@postern/testing/free-port'
import { describeTestConfig, gatewayOrigin, testIntakeSecret } from './gateway.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { createGatewayProcess } from './gateway-process.ts'

/** A gateway in a process of its own, to be killed and started again at the same ports, and the world around it. */
export interface KilledGateway {
  readonly simulation: Simulation
  readonly gateway: GatewayProcess
  readonly url: string
  readonly directory: string
  close(): Promise<void>
}

interface KilledGatewayPlan {
  /** Of the configuration; ports and log are set here. */
  readonly overrides?: Readonly<Record<string, unknown>>
  /** Where data and configuration lie; default: a new one. */
  readonly directory?: string
}

export async function openKilledGateway({
  overrides,
  directory = mkdtempSync(join(tmpdir(), 'postern-killed-')),
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
  const gateway = createGatewayProcess(configPath)
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
