import type { LookupStore } from '@postern/core'
import { refuseAgent } from '../exchange/refusals.ts'

interface SignedHosts {
  /**
   * Remembers, for good, that cards of this host are signed; refuses one that is not any more.
   * @throws Undeliverable
   */
  hold(host: string, isSigned: boolean): Promise<void>
}

/**
 * Whoever signed once has to go on: else taking the signature away would be all that an attacker needs. It is remembered in the
 * store, by one entry for each host; `a2a.client.unsigned_hosts` is how a person agrees that a host no longer signs.
 */
export function createSignedHosts(
  store: Pick<LookupStore, 'secret' | 'hasSecret'>,
  unsignedHosts: readonly string[],
): SignedHosts {
  const agreed = new Set(unsignedHosts)
  const nameOf = (host: string) => `a2a:signs-cards:${host}`
  return {
    async hold(host, isSigned) {
      if (isSigned) await store.secret(nameOf(host), async () => 'signed')
      else if (!agreed.has(host) && (await store.hasSecret(nameOf(host)))) {
        throw refuseAgent('its card was signed before and is not now; a2a.client.unsigned_hosts would allow it')
      }
    },
  }
}
