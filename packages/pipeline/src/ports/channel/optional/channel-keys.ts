// Declares the keys and DNS records of a channel that its operator publishes or replaces.
import type { RotateOptions } from '../../store/secret-store.ts'
import type { PublishedKey } from './published-key.ts'

/** The largest number of agents whose keys are listed together: a missing key takes a tenth of a second. */
export const maxListedKeyOwners = 20

/** The keys with which a channel signs, and the DNS records that go with them. */
export interface ChannelKeys {
  /**
   * Lists the valid keys and records of the gateway itself and of these agents, and creates missing ones. Default: the first `maxListedKeyOwners`
   * agents.
   */
  list(agents?: readonly string[]): Promise<readonly PublishedKey[]>
  /**
   * Creates new keys for one agent, or for all, and returns the keys that sign from now on. The old ones stay valid for a while, unless they are
   * revoked. @throws Rejection `no_recipient`
   */
  rotate?(agent?: string, options?: RotateOptions): Promise<readonly PublishedKey[]>
}
