// Opens the running gateway that the checks of a test file share.
import type { OpenedGateway } from '@postern/operator'
import { createSelfVisits } from '@postern/operator'
import { describeChannelSettings } from '../../../src/compose/doctor-deps.ts'
import { createResolveSystem } from '../../../src/compose/resolve-system.ts'
import { listSlices } from '../../../src/config/channel-slices.ts'
import type { Config } from '../../../src/config/schema.ts'
import type { Gateway } from '../../../src/gateway.ts'
import type { TestGateway } from '../../setup/gateway.ts'
import { openTestGateway, operatorToken } from '../../setup/gateway.ts'

let pendingGateway: Promise<TestGateway> | undefined

/** Opens the one running gateway of a test file; `closeSharedGateway` ends it. */
export function openShared(): Promise<TestGateway> {
  pendingGateway ??= openTestGateway()
  return pendingGateway
}

export async function closeSharedGateway(): Promise<void> {
  await (await pendingGateway)?.close()
  pendingGateway = undefined
}

/** Describes a running gateway as checks see it, with the changes of a test. */
export async function describeOpened(changes: Partial<OpenedGateway> = {}): Promise<OpenedGateway> {
  const test = await openShared()
  return { ...describeGateway(test.gateway(), Number(new URL(test.url()).port)), ...changes }
}

/** Describes a running gateway of an installation with another configuration. */
export async function describeConfigured(config: Config): Promise<OpenedGateway> {
  const store = (await openShared()).gateway().store.forOperators
  return describeOpened(
    describeChannelSettings({ config, slices: listSlices(config), store, unknownProxies: { list: () => [] } }),
  )
}

export function describeGateway(gateway: Gateway, port: number): OpenedGateway {
  const { store, channels, agents, system, app } = gateway
  const listening = [{ description: `http://127.0.0.1:${port}`, port, close: async () => undefined }]
  const config = { dev: true, origin: 'https://agents.test' } as Config
  return {
    store: store as unknown as OpenedGateway['store'],
    ...{ channels, agents, listening, operatorToken },
    ...describeChannelSettings({
      ...{ config, slices: listSlices({}), store: store.forOperators },
      unknownProxies: { list: () => [] },
    }),
    listPausedHosts: () => [],
    listFailedStarts: () => gateway.starts().listFailed(),
    listWaitingForgets: async () => [],
    visits: createSelfVisits(),
    rehearsals: { withPass: fetch => fetch },
    openResolveSystem: () => createResolveSystem({ config, system, channels, app }),
  }
}
