import type { LookupStore } from '@postern/core'
import { refuseAgent } from '../exchange/refusals.ts'

interface SignedHosts {
  /** Remembers permanently that this host signs its cards, and refuses an unsigned card later. @throws Undeliverable */
  hold(host: string, isSigned: boolean): Promise<void>
}

/**
 * A host that signed once must go on: otherwise an attacker could just remove the signature. The store keeps one entry for each host. With
 * `a2a.client.unsigned_hosts` a person agrees that a host no longer signs.
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
