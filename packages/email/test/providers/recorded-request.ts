// Reads the recorded requests of mail providers.
import { readFileSync } from 'node:fs'
import type { ProviderRequest } from '../setup/provider-requests.ts'

/** The time of the recorded requests. */
export const recordedAt = Date.parse('2026-11-22T12:00:00Z')

const folder = new URL('../../../../fixtures/email/providers/', import.meta.url)

/** Reads the configuration of a provider that fits the recorded requests. */
export function readProviderConfig(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(new URL(`${name}/config.json`, folder), 'utf8'))
}

/** Reads the certificate that signed the recorded messages of Amazon SNS. */
export function readCertificatePem(): Buffer {
  return readFileSync(new URL('ses/certificate.pem', folder))
}

/** Reads a recorded request as it was received. */
export function readRecordedRequest(provider: string, caseName: string): ProviderRequest {
  const octets = readFileSync(new URL(`${provider}/${caseName}.http`, folder))
  const headerEnd = octets.indexOf('\r\n\r\n')
  const [, ...lines] = octets.toString('latin1', 0, headerEnd).split('\r\n')
  const headers = Object.fromEntries(lines.map(line => line.split(': ', 2) as [string, string]))
  return { headers, body: octets.subarray(headerEnd + 4) }
}
