// Reads the verdict of a trusted server in front of this one, and finds the fields that it proves.
import type { UnprovenMail } from '../intake/unproven-mail.ts'
import { toBuffer, withoutRanges } from '../mail/buffers.ts'
import type { HeaderField } from '../mail/header.ts'
import { fieldValues } from '../mail/header.ts'
import { keepCovered, leavesEndOpen, readSharedCoverage } from '../signatures/coverage.ts'
import type { BelievedVerdict } from './evidence.ts'
import type { UpstreamVerdict } from './upstream.ts'
import { resultsFieldName } from './upstream.ts'

/**
 * Returns the verdict of a trusted server that saw the author proven. Such a verdict does not name its signature, so it
 * covers only the fields that all signatures cover. It proves nothing if the end of the body is open.
 */
export function findBelieved(
  { raw: { envelope }, header, addresses: { author } }: UnprovenMail,
  upstream: UpstreamVerdict | undefined,
): BelievedVerdict | undefined {
  if (leavesEndOpen(header, author.domain)) return undefined
  const shared = readSharedCoverage(header, author.domain)
  // It is unknown which signature the server saw. Only the shared fields show the time of the mail, but they do not
  // place it.
  const timing = shared ?? 'all'
  if (upstream?.isProven) {
    const issuer = `authserv:${upstream.authservId}`
    return { issuer, coverage: shared ?? (upstream.isBySpf ? 'all' : ['from']), timing }
  }
  return envelope.source?.hasDmarcPass ? { issuer: envelope.source.name, coverage: timing, timing } : undefined
}

/** Returns the mail without verdicts of other servers, which a reader must not mistake for those of this gateway. */
export function withoutForeignResults({ raw, header }: UnprovenMail, trusted: HeaderField | undefined): Uint8Array {
  const foreign = header.fields.filter(field => field.name === resultsFieldName && field !== trusted)
  return withoutRanges(
    toBuffer(raw.octets),
    foreign.map(({ start, end }) => [start, end]),
  )
}

/** Returns true if a possible proof, which is not known yet, leaves the structure of the body open. */
export function isStructureOpen(
  { header, addresses: { author } }: UnprovenMail,
  isSealed: boolean,
  believed: BelievedVerdict | undefined,
): boolean {
  const coverage = readSharedCoverage(header, author.domain, isSealed) ?? believed?.coverage ?? 'all'
  const covered = keepCovered(header, coverage)
  const names = ['content-type', 'content-transfer-encoding']
  return names.some(name => fieldValues(covered, name).length < fieldValues(header, name).length)
}
