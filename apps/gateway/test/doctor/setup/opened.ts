import { listSlices } from '../../../src/config/channel-slices.ts'
import type { OpenedGateway } from '../../../src/doctor/deps.ts'
import { createSelfVisits } from '../../../src/doctor/network/visits.ts'
import type { Gateway } from '../../../src/gateway.ts'
import { createResolvePlatform } from '../../../src/resolve/own-platform.ts'
import type { TestGateway } from '../../setup/gateway.ts'
import { openTestGateway, operatorToken } from '../../setup/gateway.ts'

let shared: Promise<TestGateway> | undefined

/** One gateway of a test file that runs; `closeShared` ends it. */
export function openShared(): Promise<TestGateway> {
  shared ??= openTestGateway()
  return shared
}

export async function closeShared(): Promise<void> {
  await (await shared)?.close()
  shared = undefined
}

/** A gateway that runs, as checks see it, with what a test changes. */
export async function describeOpened(changes: Partial<OpenedGateway> = {}): Promise<OpenedGateway> {
  const test = await openShared()
  return { ...describeGateway(test.gateway(), Number(new URL(test.url()).port)), ...changes }
}

export function describeGateway(gateway: Gateway, port: number): OpenedGateway {
  const { store, channels, agents, platform, app } = gateway
  const listening = [{ description: `http://127.0.0.1:${port}`, port, close: async () => undefined }]
  const config = { dev: true, origin: 'https://agents.test' } as Parameters<typeof createResolvePlatform>[0]['config']
  return {
    store: store as unknown as OpenedGateway['store'],
    ...{ channels, agents, listening, operatorToken },
    slices: listSlices({}),
    listUnknownProxies: () => [],
    listLeftAlone: () => [],
    visits: createSelfVisits(),
    openResolvePlatform: () => createResolvePlatform({ config, platform, channels, app }),
  }
}
