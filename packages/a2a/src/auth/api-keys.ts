import { hash, timingSafeEqual } from 'node:crypto'
import { Rejection } from '@postern/core'
import type { ApiKeyConfig } from '../config.ts'

/**
 * The configured key that a caller presents. Each digest is compared with all configured ones, so that the time of the answer reveals
 * nothing about them. @throws Rejection `signature_invalid`
 */
export function createApiKeyCheck(keys: readonly ApiKeyConfig[]): (presented: string) => ApiKeyConfig {
  const known = keys.map(config => ({ config, digest: Buffer.from(config.sha256, 'hex') }))
  return presented => {
    const digest = hash('sha256', presented, 'buffer')
    let found: ApiKeyConfig | undefined
    for (const key of known) if (timingSafeEqual(key.digest, digest)) found = key.config
    if (!found) throw new Rejection('signature_invalid', 'Cannot take request: API key is not one of ours')
    return found
  }
}
