// Compares API keys with the configured digests.
import { hash, timingSafeEqual } from 'node:crypto'
import { Rejection } from '@postern/message'
import type { ApiKeyConfig } from '../config.ts'

/**
 * Creates the function that finds the configured key of a caller. It compares each digest with all configured digests,
 * so that the time of the response reveals nothing about the keys.
 * @throws Rejection `signature_invalid`
 */
export function createApiKeyCheck(keys: readonly ApiKeyConfig[]): (apiKey: string) => ApiKeyConfig {
  const digests = keys.map(config => ({ config, digest: Buffer.from(config.sha256, 'hex') }))
  return apiKey => {
    const digest = hash('sha256', apiKey, 'buffer')
    let match: ApiKeyConfig | undefined
    for (const key of digests) if (timingSafeEqual(key.digest, digest)) match = key.config
    if (!match) throw new Rejection('signature_invalid', 'Cannot take request: API key is not one of ours')
    return match
  }
}
