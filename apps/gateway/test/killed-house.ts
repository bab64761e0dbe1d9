import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SimWorld } from '@postern/sim'
import { openSimWorld } from '@postern/sim'
import type { GatewayProcess } from './gateway-process.ts'
import { createGatewayProcess, findFreePort } from './gateway-process.ts'
import { describeTestConfig, intakeSecret, origin } from './house.ts'

/** A gateway in a process of its own, to be killed and started again at the same ports, and the world around it. */
export interface KilledHouse {
  readonly world: SimWorld
  readonly gateway: GatewayProcess
  readonly url: string
  readonly directory: string
  close(): Promise<void>
}

export interface KilledHousePlan {
  /** Of the configuration; ports and log are set here. */
  readonly overrides?: Readonly<Record<string, unknown>>
  /** Where data and configuration lie; default: a new one. */
  readonly directory?: string
}

export async function openKilledHouse({
  overrides,
  directory = mkdtempSync(join(tmpdir(), 'postern-killed-')),
}: KilledHousePlan = {}): Promise<KilledHouse> {
  const world = await openSimWorld()
  const [port, smtpPort] = [await findFreePort(), await findFreePort()]
  const email = { listen: { port: smtpPort, protocol: 'smtp' } }
  const config = describeTestConfig(world, directory, {
    ...overrides,
    listen: { port },
    email,
    log: { level: 'error' },
  })
  const configPath = join(directory, 'postern.config.json')
  writeFileSync(configPath, JSON.stringify(config))
  const gateway = createGatewayProcess(configPath)
  await gateway.start()
  world.connectGateway({ origin, port, smtpPort, intakeSecret })
  return {
    world,
    gateway,
    url: `http://127.0.0.1:${port}`,
    directory,
    async close() {
      await gateway.kill()
      await world.close()
    },
  }
}
