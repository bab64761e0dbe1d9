// Gives the checks of `postern doctor` the values that they need from the configuration and the channels.
import { inspectIssuer } from '@postern/identity'
import { noLog } from '@postern/message'
import type { DoctorDeps, OpenedGateway } from '@postern/operator'
import type { WhyStore } from '@postern/pipeline'
import type { ChannelSlice } from '../config/channel-slices.ts'
import { noTrustedProxy, trustsNoProxy } from '../config/missing-proxy.ts'
import { findUnsafeSettings } from '../config/production.ts'
import type { Config } from '../config/schema.ts'
import { findHandleHost } from '../config/schema.ts'
import type { UnknownProxies } from '../http/clients/unknown-proxies.ts'
import { untrustedProxyFix } from '../http/clients/unknown-proxies.ts'
import { describeSetup, toSetupError } from '../storage/run-setup.ts'
import { createSystem } from '../system/system.ts'

/** Returns the values that the checks need from a configuration, whether or not a gateway is open. */
export function describeInstallation(
  config: Config,
  { network, now }: Pick<DoctorDeps, 'network' | 'now'>,
): Pick<DoctorDeps, 'config' | 'handleHost' | 'listUnsafeSettings' | 'inspectIssuer'> {
  return {
    config,
    handleHost: findHandleHost(config),
    listUnsafeSettings: () => findUnsafeSettings(config),
    inspectIssuer: issuer => inspectIssuer(issuer, { fetch: network.fetch, now }),
  }
}

interface ChannelDeps {
  readonly config: Config
  readonly slices: readonly ChannelSlice[]
  readonly store: Pick<WhyStore, 'findSetupDifference'>
  readonly unknownProxies: Pick<UnknownProxies, 'list'>
}

/** Returns the values that the checks need from the channels' settings. */
export function describeChannelSettings({
  config,
  slices,
  store,
  unknownProxies,
}: ChannelDeps): Pick<OpenedGateway, 'findSetupFault' | 'withFileStorage' | 'findProxyFault'> {
  return {
    async findSetupFault() {
      const difference = await store.findSetupDifference(describeSetup(config, slices, 'production'))
      return difference && toSetupError(difference)
    },
    async withFileStorage(use) {
      const system = createSystem(config, { log: noLog, slices: [] })
      try {
        const [storage] = slices.flatMap(
          ({ module, config: channelConfig }) => module.openBytes?.(channelConfig, system) ?? [],
        )
        return await use(storage)
      } finally {
        system.close()
      }
    },
    findProxyFault() {
      const unknownAddresses = unknownProxies.list()
      const message = `forwarded requests come from ${unknownAddresses.join(', ')}, which is not trusted`
      if (unknownAddresses.length > 0) return { message, fix: untrustedProxyFix }
      return trustsNoProxy(config) ? noTrustedProxy : undefined
    },
  }
}
