import type { Platform } from '@postern/core'

export interface ResolvePlatform extends Pick<Platform, 'fetch' | 'resolveDns' | 'now'> {
  /** DKIM records that are known to belong to a domain: its own, where it is ours. */
  dkimRecordsOf?(domain: string): Promise<readonly { readonly name: string; readonly key: string }[]>
}
