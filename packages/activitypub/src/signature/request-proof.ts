import type { KeyObject } from 'node:crypto'
import { Rejection } from '@postern/core'
import { checkAlgorithm, checkCoverage, isSignedBy } from './cavage.ts'
import { checkDigest } from './digest.ts'
import { parseSignatureHeader } from './header.ts'
import { checkContentDigest } from './rfc9421/content-digest.ts'
import { checkMessageCoverage, isMessageSignedBy, parseMessageSignature } from './rfc9421/message-signature.ts'
import type { SignedRequest } from './signed-request.ts'
import type { TimeWindow } from './window.ts'
import { checkExpiry, checkSignedTime, parseHttpDate } from './window.ts'

/** A request's signature of either kind, its form checked; the rest is checked in the order of what it costs. */
export interface RequestProof {
  readonly scheme: 'cavage' | 'rfc9421'
  readonly keyId: string
  /** As it is named; the key decides. */
  readonly algorithm: string | undefined
  readonly covered: readonly string[]
  /** @throws Rejection `expired`, `signature_invalid` */
  checkTimes(window: TimeWindow): void
  /** @throws Rejection `signature_invalid` */
  checkBody(body: Uint8Array): void
  /** Whether `key` made it. @throws Rejection when a covered component is missing */
  isMadeBy(key: KeyObject): boolean
}

/**
 * Reads the signature of a request. With a `Signature-Input` only RFC 9421 counts, and a signature of the old kind
 * beside it is ignored.
 * @throws Rejection `unsigned`, `signature_invalid`
 */
export function readRequestProof(request: SignedRequest): RequestProof {
  return request.headers.has('signature-input') ? readMessageProof(request) : readCavageProof(request)
}

/** Whether there is a signature, valid or not. */
export function isSigned(headers: Headers): boolean {
  return headers.has('signature') || headers.has('signature-input')
}

function readCavageProof(request: SignedRequest): RequestProof {
  const { headers } = request
  const header = headers.get('signature')
  if (!header) throw new Rejection('unsigned', 'Cannot verify activity: there is no Signature header')
  const parameters = parseSignatureHeader(header)
  checkAlgorithm(parameters)
  checkCoverage(parameters, request)
  const { keyId, covered, algorithm = 'rsa-sha256', created, expires } = parameters
  return {
    scheme: 'cavage',
    keyId,
    covered,
    algorithm,
    checkTimes(window) {
      if (covered.includes('date')) checkSignedTime(parseHttpDate(headers.get('date')), 'Date', window)
      if (covered.includes('(created)')) checkSignedTime(toMs(created), '(created)', window)
      checkExpiry(expires, window)
    },
    checkBody: body => checkDigest(headers.get('digest'), body),
    isMadeBy: key => isSignedBy(key, parameters, request),
  }
}

function readMessageProof(request: SignedRequest): RequestProof {
  const signature = parseMessageSignature(request.headers)
  checkMessageCoverage(signature, request)
  const { keyId, covered, algorithm, created, expires } = signature
  return {
    scheme: 'rfc9421',
    keyId,
    covered,
    algorithm,
    checkTimes(window) {
      checkSignedTime(toMs(created), '"created"', window)
      checkExpiry(expires, window)
    },
    checkBody: body => checkContentDigest(request.headers.get('content-digest'), body),
    isMadeBy: key => isMessageSignedBy(key, signature, request),
  }
}

function toMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000
}
