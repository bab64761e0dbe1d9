// Reads the verdict of a trusted server in front of this one, and finds the fields that it proves.
import type { UnprovenMail } from '../intake/unproven-mail.ts'
import { toBuffer, withoutRanges } from '../mail/buffers.ts'
import type { HeaderField } from '../mail/header.ts'
import { fieldValues } from '../mail/header.ts'
import { leavesEndOpen, readSharedCoverage, selectCovered } from '../signatures/coverage.ts'
import type { TrustedVerdict } from './evidence.ts'
import type { UpstreamVerdict } from './upstream.ts'
import { resultsFieldName } from './upstream.ts'

/**
 * Returns the verdict of a trusted server that saw the author proven. Such a verdict does not name its signature, so it
 * covers only the fields that all signatures cover. It proves nothing if the end of the body is open.
 */
export function findTrustedVerdict(
  { raw: { envelope }, header, addresses: { author } }: UnprovenMail,
  upstream: UpstreamVerdict | undefined,
): TrustedVerdict | undefined {
  if (leavesEndOpen(header, author.domain)) return undefined
  const sharedCoverage = readSharedCoverage(header, author.domain)
  // It is unknown which signature the server saw. Only the shared fields show the time of the mail, but they do not
  // place it.
  const timingCoverage = sharedCoverage ?? 'all'
  if (upstream?.isProven) {
    const issuer = `authserv:${upstream.authservId}`
    return { issuer, coverage: sharedCoverage ?? (upstream.isBySpf ? 'all' : ['from']), timingCoverage }
  }
  return envelope.source?.hasDmarcPass
    ? { issuer: envelope.source.name, coverage: timingCoverage, timingCoverage }
    : undefined
}

/** Returns the mail without verdicts of other servers, which a reader must not mistake for those of this gateway. */
export function withoutForeignResults(
  { raw, header }: UnprovenMail,
  trustedField: HeaderField | undefined,
): Uint8Array {
  const foreign = header.fields.filter(field => field.name === resultsFieldName && field !== trustedField)
  return withoutRanges(
    toBuffer(raw.octets),
    foreign.map(({ start, end }) => [start, end]),
  )
}

/** Returns true if a possible proof, which is not known yet, leaves the structure of the body open. */
export function isStructureOpen(
  { header, addresses: { author } }: UnprovenMail,
  isSealed: boolean,
  trustedVerdict: TrustedVerdict | undefined,
): boolean {
  const coverage = readSharedCoverage(header, author.domain, isSealed) ?? trustedVerdict?.coverage ?? 'all'
  const signedHeader = selectCovered(header, coverage)
  const names = ['content-type', 'content-transfer-encoding']
  return names.some(name => fieldValues(signedHeader, name).length < fieldValues(header, name).length)
}
